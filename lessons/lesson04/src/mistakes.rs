//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::DType;
use canopy::{
    device::Settled,
    kernels::Pass,
    loader::batches,
    train::{
        Failure, OnDevice,
        memory::{LayerSize, StepBytes, StepSize},
        metrics::{Scores, of_confusion},
    },
};
use grader::{Mistake, wrong};

use crate::{Lesson04, REFERENCE, answer_helpers::*};

mod choose_device;
mod executable_batch;
mod largest_batch;
mod mean_loss;
mod probabilities;
mod resume_batches;
mod scores;
mod train_step;

pub const MISTAKES: &[&[Mistake<Lesson04>]] = &[
    choose_device::MISTAKES,
    train_step::MISTAKES,
    probabilities::MISTAKES,
    scores::MISTAKES,
    mean_loss::MISTAKES,
    largest_batch::MISTAKES,
    resume_batches::MISTAKES,
    executable_batch::MISTAKES,
];
