//! A model split over ranks: tensor parallelism (the numbers of a layer over ranks), pipeline parallelism (the layers over
//! ranks), and the choice between these, data parallelism and sharding.
//!
//! Tensor parallelism is that of Shoeybi et al. 2019 ("Megatron-LM", section 3). The schedules are those of Huang et al. 2019
//! ("GPipe") and of Narayanan et al. 2021 ("Efficient Large-Scale Language Model Training on GPU Clusters Using
//! Megatron-LM", section 2.2).
//!
//! [`Part`] is one rank's part of a vanilla PointNet that is split over a [`Mesh`] of ranks: by the numbers of a layer, the
//! points of a cloud (sequence parallelism), the micro-batches (data parallelism) and the layers (a pipeline). Its loss and
//! gradients are those of one rank, within rounding. [`bytes_of_rank`] and [`sent_by_rank`] predict what a rank keeps and
//! sends.

mod add;
mod column;
mod count;
mod fit;
mod layer;
mod loss;
mod maximum;
mod mesh;
mod network;
mod norm;
mod order;
mod own;
mod part;
mod pipeline;
mod planner;
mod reason;
mod row;
mod run;
mod schedule;
mod setting;
mod step;
mod sum;

pub use column::{column_parallel, column_parallel_backward};
pub use count::{Bytes, bytes_of_rank, sent_by_rank};
pub use fit::{bubble_in_theory, forecast, fullest_rank, meshes_that_fit};
pub use layer::Layer;
pub use mesh::{Groups, Mesh, Position, Sent};
pub use network::{LayerShape, Network, Split};
pub use order::{Action, activations_held, bubble, gpipe_order, one_f_one_b_order};
pub use part::{Part, Passed};
pub use pipeline::{Stages, Timed, run_pipeline};
pub use planner::{Choice, Machine, Work, choose};
pub use row::{row_parallel, row_parallel_backward};
pub use run::{RankRun, Run, made_clouds, on_ranks, run_split, run_split_over};
pub use schedule::{Schedule, Slot, Times, interleaved_order, measured_bubble, simulate};
pub use setting::{Setting, Share};
pub use step::MicroBatch;
pub use sum::{LinearGrads, sum_over_ranks};
