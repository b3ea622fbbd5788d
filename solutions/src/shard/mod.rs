//! ZeRO: ranks share the optimizer's state, the gradients and the parameters instead of copying them (Rajbhandari et al.
//! 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models").
//!
//! What each rank keeps and sends is counted here, for `canopy plan`. Training with it is not there yet.

mod count;

pub use count::{Stage, bytes_per_rank, numbers_sent};
