//! Puts the rooms together: step, evaluation, metrics, checkpoints, the run loop. The only room that knows
//! them all.

pub mod checkpoint;
mod config;
pub mod data;
pub mod evaluate;
mod folder;
pub(crate) mod machine;
pub mod metrics;
mod plan;
mod progress;
pub mod ranks;
mod run;
mod step;
pub mod summary;
mod trainer;

pub use checkpoint::{Checkpoint, Progress};
pub use config::{BUILTIN, Config};
pub use evaluate::{EvaluateOptions, Predictions};
pub use folder::{RunFolder, free_name};
pub use plan::Plan;
pub use progress::{Display, bar};
pub use run::Outcome;
pub use step::{Loss, Running, accumulated_step, train_step};
pub use trainer::Trainer;
