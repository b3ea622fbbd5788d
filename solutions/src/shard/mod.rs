//! ZeRO: ranks share the optimizer's state, the gradients and the parameters instead of copying them (Rajbhandari et al.
//! 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models").
//!
//! The functions work on lists of f32 numbers, in which the parameters are laid end to end, and over any
//! [`Collective`](crate::parallel::Collective).

mod batch;
mod count;
mod engine;
mod gradients;
mod memory;
mod optimizer;
mod parameters;
mod slice;

pub use batch::{BatchSizes, BatchWanted, settle_batch};
pub use count::{Stage, bytes_per_rank, numbers_sent};
pub use engine::{EngineState, Outcome, engine_backward, engine_step};
pub use gradients::reduce_gradients;
pub use memory::{Gathered, Memory};
pub use optimizer::{Update, stage1_step};
pub use parameters::{LayerBackward, LayerForward, Sharded, backward_sharded, forward_sharded};
pub use slice::{Slice, slices_of_rank};
