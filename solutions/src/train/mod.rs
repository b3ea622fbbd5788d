//! Puts the rooms together: step, evaluation, metrics, checkpoints, the run loop. The only room that knows
//! them all.

mod carrier;
pub mod checkpoint;
mod config;
pub mod data;
pub mod evaluate;
mod folder;
mod inputs;
mod loss;
pub(crate) mod machine;
mod master;
pub mod memory;
pub mod metrics;
mod on_device;
mod plan;
pub mod profiled;
mod progress;
pub mod ranks;
mod replica;
mod run;
mod running;
mod search;
pub mod short;
mod step;
pub mod summary;
mod take_up;
mod trainer;

pub use checkpoint::{Checkpoint, Progress};
pub use config::{BUILTIN, Config, points_setting};
pub use evaluate::{EvaluateOptions, Predictions};
pub use folder::{RunFolder, free_name};
pub use inputs::StepInputs;
pub use loss::Loss;
pub use master::{MasterWeights, Round};
pub use on_device::{OnDevice, mean_loss};
pub use plan::Plan;
pub use progress::{Display, bar};
use replica::Replica;
pub use run::Outcome;
pub use running::{Figures, Running, SumOver};
pub use search::{Failure, executable_batch};
pub use step::{MicroBatch, RankShare, Reduce, Step, Stepped, train_step};
pub use take_up::{Saved, take_up};
pub use trainer::Trainer;

use take_up::remaining;
