//! Learning-rate schedules: pure functions from the step to the learning rate, and [`Schedule`], by which a run names one.
//!
//! `solutions/tests/library/schedules.rs` tests the functions against PyTorch's schedulers, step by step.

mod choice;
mod cosine;
mod decay;
mod one_cycle;
mod range_test;
mod scaling;

pub use choice::Schedule;
pub use cosine::cosine_with_warmup;
pub use decay::{Decay, decayed};
pub use one_cycle::{OneCycle, one_cycle};
pub use range_test::{RangeFound, growing_rates, range_test, valley};
pub use scaling::scaled_warmup;
