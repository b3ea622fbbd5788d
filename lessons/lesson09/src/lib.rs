//! Lesson 09: sharding.

mod answers;
mod batch;
mod count;
mod engine;
mod gradients;
mod layers;
mod ranks;
mod right;
mod slices;
mod stage1;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use canopy::{
    parallel::Collective,
    precision::BytesPerParameter,
    shard::{self, *},
};

type Means = Result<Vec<Vec<f32>>>;

grader::contract! {
    pub struct Lesson09 of exercise09 with slices, stage1, gradients, layers, count, batch, engine;
    "9.1" slices_of_rank: fn(&[usize], usize, usize) -> Vec<Slice> = shard::slices_of_rank;
    "9.2" stage1_step: fn(&dyn Collective, &mut [f32], &mut [f32], &mut Update) -> Result<()> = shard::stage1_step;
    "9.3" reduce_gradients: fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>> = shard::reduce_gradients;
    "9.4" forward_sharded: fn(&dyn Collective, &[Sharded], &Memory, &mut LayerForward) -> Result<()>
        = shard::forward_sharded;
    "9.4" backward_sharded: fn(&dyn Collective, &[Sharded], &Memory, &mut LayerBackward) -> Means
        = shard::backward_sharded;
    "9.5" bytes_per_rank: fn(u64, BytesPerParameter, Stage, u64) -> [u64; 3] = shard::bytes_per_rank;
    "9.5" numbers_sent: fn(u64, Stage, u64) -> u64 = shard::numbers_sent;
    "9.6" settle_batch: fn(BatchWanted, usize) -> Result<BatchSizes> = shard::settle_batch;
    "9.7" engine_step: fn(&mut EngineState, &dyn Collective, &mut [f32], &mut Update) -> Result<Outcome>
        = shard::engine_step;
    "9.7" engine_backward: fn(&mut EngineState, &[f32]) -> Result<()> = shard::engine_backward;
}
