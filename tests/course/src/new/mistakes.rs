//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use grader::{Mistake, wrong};

use crate::{Lesson__NN__, REFERENCE};

pub const MISTAKES: &[&[Mistake<Lesson__NN__>]] = &[&[
    wrong!("__N__.1", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, drop| if drop && n > 0 { (n / size).max(1) } else { n / size }),
    wrong!("__N__.1", counts_the_last_batch, "There is one step too many when the last batch is full.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { n / size + 1 }),
    wrong!("__N__.1", counts_the_last_batch, "There is a step without records.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, drop).max(1)),
    wrong!("__N__.1", drops_the_last_batch, "`drop_last` is ignored.",
        iterations: |n, size, _| n.div_ceil(size)),
    wrong!("__N__.1", drops_the_last_batch, "The only batch is dropped if it is not full.",
        iterations: |n, size, drop| if drop { n / size } else { n.div_ceil(size) }),
]];
