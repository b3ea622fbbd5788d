//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

#![allow(
    clippy::unwrap_used,
    reason = "students unwrap, and the panic must be the same"
)]

use candle_core::{D, DType, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};
use grader::{Mistake, wrong};

use crate::{Lesson12, REFERENCE, answer_helpers::*};

mod calibration;
mod crps;
mod embedding;
mod gaussian;
mod mixture;
mod quantile_bins;
mod summarise;

pub const MISTAKES: &[&[Mistake<Lesson12>]] = &[
    embedding::LOOK_UP,
    embedding::GRADIENT,
    gaussian::MISTAKES,
    mixture::MISTAKES,
    quantile_bins::EDGES,
    quantile_bins::BIN_OF,
    summarise::MISTAKES,
    calibration::MISTAKES,
    crps::MISTAKES,
];
