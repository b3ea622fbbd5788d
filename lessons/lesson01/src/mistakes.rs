//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{DType, IndexOp, Result, Tensor, bail};
use grader::{Mistake, wrong};

use crate::{Lesson01, REFERENCE, answer_helpers::*};

mod adam_step;
mod cross_entropy;
mod iterations;
mod momentum_step;
mod neuron;
mod sgd_step;

pub const MISTAKES: &[&[Mistake<Lesson01>]] = &[
    neuron::MISTAKES,
    cross_entropy::MISTAKES,
    sgd_step::MISTAKES,
    momentum_step::MISTAKES,
    adam_step::MISTAKES,
    iterations::MISTAKES,
];
