//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use candle_core::{D, DType, Result, Tensor};
use canopy_data::Philox;
use grader::{Mistake, wrong};

use crate::{Lesson02, REFERENCE, answer_helpers::*};

mod jitter;
mod max_points;
mod normalise;
mod orthogonality;
mod shared_layer;
mod survivors;
mod to_matrix;
mod turn;

pub const MISTAKES: &[&[Mistake<Lesson02>]] = &[
    normalise::MISTAKES,
    shared_layer::MISTAKES,
    max_points::MISTAKES,
    to_matrix::MISTAKES,
    orthogonality::MISTAKES,
    turn::MISTAKES,
    jitter::MISTAKES,
    survivors::MISTAKES,
];
