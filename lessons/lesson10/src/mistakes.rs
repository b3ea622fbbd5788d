//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

#![allow(
    clippy::unwrap_used,
    reason = "students unwrap, and the panic must be the same"
)]

use candle_core::Tensor;
use canopy::{
    shard::{Stage, bytes_per_rank},
    split::{
        Action::{self, Backward, Forward},
        Choice, sum_over_ranks,
    },
};
use grader::{Mistake, wrong};

use crate::{Lesson10, REFERENCE, answer_helpers::*};

mod bubble;
mod choose;
mod column_parallel;
mod gpipe_order;
mod one_f_one_b_order;
mod row_parallel;

pub const MISTAKES: &[&[Mistake<Lesson10>]] = &[
    column_parallel::MISTAKES,
    row_parallel::MISTAKES,
    gpipe_order::MISTAKES,
    one_f_one_b_order::MISTAKES,
    bubble::MISTAKES,
    choose::MISTAKES,
];
