//! canopy's learning-rate schedules.
#![allow(dead_code, reason = "the pieces use a part of canopy's functions")]

#[path = "../../../solutions/src/schedule/cosine.rs"]
mod cosine;
#[path = "../../../solutions/src/schedule/one_cycle.rs"]
mod one_cycle;

pub use cosine::cosine_with_warmup;
pub use one_cycle::{OneCycle, one_cycle};
