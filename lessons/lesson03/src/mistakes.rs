//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use std::{
    cell::Cell,
    cmp::Ordering,
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use candle_core::{DType, Tensor};
use canopy_data::{Philox, sample::Subsample};
use grader::{Mistake, wrong};

use crate::{Lesson03, REFERENCE, answer_helpers::*};

/// How often an order was asked for that remembers it.
static CALLS: AtomicU64 = AtomicU64::new(0);

mod collate_ragged;
mod epoch_order;
mod length_buckets;
mod prefetched;
mod subsample;
mod together;

pub const MISTAKES: &[&[Mistake<Lesson03>]] = &[
    epoch_order::MISTAKES,
    subsample::MISTAKES,
    collate_ragged::MISTAKES,
    length_buckets::MISTAKES,
    prefetched::MISTAKES,
    together::MISTAKES,
];
