//! Right answers that are not written as canopy's: every check must accept them.

use grader::{Right, known};

use crate::{Lesson__NN__, REFERENCE};

pub const RIGHT: &[Right<Lesson__NN__>] = &[
    known!("__N__.1", "counted in two parts", iterations: |n, size, drop| {
        let (full, rest) = (n / size, usize::from(!n.is_multiple_of(size)));
        if drop && full > 0 { full } else { full + rest }
    }),
];
