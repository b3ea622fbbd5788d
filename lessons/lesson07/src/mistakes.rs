//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

#![allow(
    clippy::unwrap_used,
    reason = "students unwrap, and the panic must be the same"
)]

use candle_core::{Result, Tensor};
use canopy::schedule::{Decay, OneCycle, RangeFound, valley};
use grader::{Mistake, wrong};

use crate::{Lesson07, REFERENCE, answer_helpers::*, wrong_lamb, wrong_loss_along};

mod accumulated;
mod decayed;
mod lamb_step;
mod lars_step;
mod loss_along;
mod one_cycle;
mod range_test;
mod scaled_warmup;

pub const MISTAKES: &[&[Mistake<Lesson07>]] = &[
    scaled_warmup::MISTAKES,
    one_cycle::MISTAKES,
    decayed::MISTAKES,
    range_test::MISTAKES,
    lars_step::MISTAKES,
    lamb_step::MISTAKES,
    accumulated::MISTAKES,
    loss_along::MISTAKES,
];
