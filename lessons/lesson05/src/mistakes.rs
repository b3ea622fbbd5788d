//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

mod amdahl;
mod copies;
mod pattern;
mod roof;
mod timing;
mod totals;

use grader::Mistake;

use crate::Lesson05;

pub const MISTAKES: &[&[Mistake<Lesson05>]] = &[
    totals::MISTAKES,
    timing::MISTAKES,
    pattern::MISTAKES,
    amdahl::MISTAKES,
    copies::MISTAKES,
    roof::MISTAKES,
];
