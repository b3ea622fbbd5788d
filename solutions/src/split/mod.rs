//! A model split over ranks: tensor parallelism (the numbers of a layer over ranks), pipeline parallelism (the layers over
//! ranks), and the choice between these, data parallelism and sharding.
//!
//! Tensor parallelism is that of Shoeybi et al. 2019 ("Megatron-LM", section 3). The schedules are those of Huang et al. 2019
//! ("GPipe") and of Narayanan et al. 2021 ("Efficient Large-Scale Language Model Training on GPU Clusters Using
//! Megatron-LM", section 2.2). The experiment of lesson 10 trains with them; `canopy train` does not.

mod column;
mod order;
mod planner;
mod row;
mod sum;

pub use column::{column_parallel, column_parallel_backward};
pub use order::{Action, activations_held, bubble, gpipe_order, one_f_one_b_order};
pub use planner::{Choice, Machine, Work, choose};
pub use row::{row_parallel, row_parallel_backward};
pub use sum::{LinearGrads, sum_over_ranks};
