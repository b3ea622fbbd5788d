//! Known wrong answers to exercise 1.6.

use super::*;

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, drop| if drop && n > 0 { (n / size).max(1) } else { n / size }),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, _| n / size),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, _| if n > 0 { (n / size).max(1) } else { 0 }),
    wrong!("1.6", counts_the_last_batch, "There is one step too many if the last batch is full.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { n / size + 1 }),
    wrong!("1.6", counts_the_last_batch, "There is one step too many if the last batch is full.",
        iterations: |n, size, drop| n / size + usize::from(!drop)),
    wrong!("1.6", counts_the_last_batch, "`drop_last` is inverted.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, !drop)),
    wrong!("1.6", counts_the_last_batch, "`drop_last` is inverted.",
        iterations: |n, size, drop| if drop { n.div_ceil(size) } else { n / size }),
    wrong!("1.6", counts_the_last_batch, "The number of batches is rounded to the nearest; it is rounded up, or down.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { (n + size / 2) / size }),
    wrong!("1.6", counts_the_last_batch, "The rest is counted in records; it is one batch.",
        iterations: |n, size, drop| if drop && n >= size { n / size } else { n / size + n % size }),
    wrong!("1.6", counts_the_last_batch, "The last batch is dropped without `drop_last` if it has a single record.",
        iterations: |n, size, drop| if !drop && n > size && n % size == 1 { n / size } else { (REFERENCE.iterations)(n, size, drop) }),
    wrong!("1.6", counts_the_last_batch, "The batch size is always 16; use `batch`.",
        iterations: |n, _, drop| (REFERENCE.iterations)(n, 16, drop)),
    wrong!("1.6", counts_the_last_batch, "This is the number of records in full batches; return the number of batches.",
        iterations: |n, size, drop| if drop && n >= size { n / size * size } else { n }),
    wrong!("1.6", drops_only_an_incomplete_batch, "`drop_last` is ignored.",
        iterations: |n, size, _| n.div_ceil(size)),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch that is full is dropped as well.",
    iterations: |n, size, drop| {
        let all = n.div_ceil(size);
        if drop && all > 1 { all - 1 } else { all }
    }),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch that is full is dropped as well.",
        iterations: |n, size, drop| n.div_ceil(size) - usize::from(drop && n > 0)),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch is dropped only if it is less than half full; drop it if it is not full.",
    iterations: |n, size, drop| {
        let keeps = n % size > 0 && (!drop || n < size || n % size * 2 >= size);
        n / size + usize::from(keeps)
    }),
    wrong!("1.6", keeps_the_only_batch, "The only batch is dropped if it is not full; an epoch must not be empty.",
        iterations: |n, size, drop| if drop { n / size } else { n.div_ceil(size) }),
    wrong!("1.6", drops_only_an_incomplete_batch, "One batch is kept too many: with a full batch before it, the last one is dropped.",
        iterations: |n, size, drop| if drop && n >= 2 * size { n / size } else { n.div_ceil(size) }),
    wrong!("1.6", counts_the_last_batch, "A data set of one full batch is counted twice: it is not smaller than a batch.",
    iterations: |n, size, drop| if n == size { 1 + usize::from(!drop) } else { (REFERENCE.iterations)(n, size, drop) }),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, drop).max(1)),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| if drop { (n / size).max(1) } else { n.div_ceil(size) }),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| if drop || n < size { (n / size).max(1) } else { n.div_ceil(size) }),
    wrong!("1.6", has_no_step_without_records, "`records - 1` underflows if there are none: use `div_ceil`.",
        iterations: |n, size, drop| if drop && n >= size { n / size } else { (n - 1) / size + 1 }),
    wrong!("1.6", is_exact_for_millions_of_records, "f32 has 24 bits, which rounds large numbers of records: divide whole numbers, with `div_ceil`.",
    iterations: |n, size, drop| {
        let batches = n as f32 / size as f32;
        (if drop && n >= size { batches.floor() } else { batches.ceil() }) as usize
    }),
    wrong!("1.6", is_exact_for_millions_of_records, "f64 has 53 bits, which rounds very large numbers of records: divide whole numbers, with `div_ceil`.",
    iterations: |n, size, drop| {
        let batches = n as f64 / size as f64;
        (if drop && n >= size { batches.floor() } else { batches.ceil() }) as usize
    }),
    wrong!("1.6", is_exact_for_millions_of_records, "u32 and i32 cut off large numbers of records: compute in usize.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n as u32 as usize, size, drop)),
];
