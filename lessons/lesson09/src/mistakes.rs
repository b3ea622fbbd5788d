//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use anyhow::Result;
use canopy::{
    parallel::chunk,
    shard::{BatchSizes, BatchWanted, Outcome, Slice, Stage},
};
use grader::{Mistake, wrong};

use crate::{Lesson09, REFERENCE, answer_helpers::*};

mod bytes_per_rank;
mod engine_step;
mod forward_sharded;
mod reduce_gradients;
mod settle_batch;
mod slices_of_rank;
mod stage1_step;

pub const MISTAKES: &[&[Mistake<Lesson09>]] = &[
    slices_of_rank::MISTAKES,
    stage1_step::MISTAKES,
    reduce_gradients::MISTAKES,
    forward_sharded::MISTAKES,
    bytes_per_rank::MISTAKES,
    settle_batch::MISTAKES,
    engine_step::MISTAKES,
];
