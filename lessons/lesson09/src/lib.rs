//! Lesson 09: sharding.

mod answer_helpers;
mod checks;
mod mistakes;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
// The lines of the hints are as they are shown there.
#[rustfmt::skip]
#[allow(unused)]
mod third_hints;

use anyhow::Result;
use canopy::{
    parallel::Collective,
    precision::BytesPerParameter,
    shard::{
        self, BatchSizes, BatchWanted, EngineState, LayerBackward, LayerForward, Memory, Outcome, Sharded,
        Slice, Stage, Update,
    },
};

type Means = Result<Vec<Vec<f32>>>;

grader::contract! {
    pub struct Lesson09 of exercise09;
    "9.1" slices_of_rank: fn(&[usize], usize, usize) -> Vec<Slice> = shard::slices_of_rank;
    "9.2" stage1_step: fn(&dyn Collective, &mut [f32], &mut [f32], &mut Update) -> Result<()> = shard::stage1_step;
    "9.3" reduce_gradients: fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>> = shard::reduce_gradients;
    "9.4" forward_sharded: fn(&dyn Collective, &[Sharded], &Memory, &mut LayerForward) -> Result<()> = shard::forward_sharded;
    "9.4" backward_sharded: fn(&dyn Collective, &[Sharded], &Memory, &mut LayerBackward) -> Means = shard::backward_sharded;
    "9.5" bytes_per_rank: fn(u64, BytesPerParameter, Stage, u64) -> [u64; 3] = shard::bytes_per_rank;
    "9.5" numbers_sent: fn(u64, Stage, u64) -> u64 = shard::numbers_sent;
    "9.6" settle_batch: fn(BatchWanted, usize) -> Result<BatchSizes> = shard::settle_batch;
    "9.7" engine_backward: fn(&mut EngineState, &[f32]) -> Result<()> = shard::engine_backward;
    "9.7" engine_step: fn(&mut EngineState, &dyn Collective, &mut [f32], &mut Update) -> Result<Outcome> = shard::engine_step;
}
