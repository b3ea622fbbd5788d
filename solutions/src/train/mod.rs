//! Training: step, evaluation, metrics, checkpoints, the run loop. The only module that uses all those below it.

mod build;
pub mod checkpoint;
mod config;
pub mod data;
pub mod evaluate;
mod folder;
pub(crate) mod machine;
pub mod memory;
pub mod metrics;
mod on_device;
mod plan;
mod progress;
pub mod ranks;
mod results;
mod run;
mod scaled;
mod search;
pub mod short;
mod step;
pub mod summary;
mod take_up;
pub mod tensorboard;
mod trainer;

pub use checkpoint::{Checkpoint, Progress};
pub use config::{BUILTIN, Config};
pub use evaluate::{EvaluateOptions, Predictions};
pub use folder::{RunFolder, free_name};
pub use on_device::{OnDevice, mean_loss};
pub use plan::Plan;
pub use progress::{Display, bar};
pub use results::{ClassRow, CriticalPoints, EpochRow, Evaluation, RunReport, WrongTree};
pub use run::Outcome;
pub use scaled::{Scaled, scaled_step};
pub use search::{Failure, executable_batch};
pub use step::{Loss, Running, StepOptions, accumulated_step, train_step};
pub use take_up::{Saved, take_up};
pub use trainer::Trainer;

use take_up::remaining;
