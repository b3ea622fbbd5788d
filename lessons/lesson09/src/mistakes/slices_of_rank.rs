//! Known wrong answers to exercise 9.1.

use std::ops::Range;

use super::*;

/// The parts in `own`, where `range` shows a part by its parameter's start, and `keeps` decides on its length.
fn parts(
    sizes: &[usize],
    own: Range<usize>,
    range: fn(usize, usize, usize) -> Range<usize>,
    keeps: fn(usize, usize) -> bool,
) -> Vec<Slice> {
    let (mut slices, mut start) = (Vec::new(), 0);
    for (param, &size) in sizes.iter().enumerate() {
        let (from, to) = (own.start.max(start), own.end.min(start + size));
        if keeps(from, to) {
            let range = range(start, from, to);
            slices.push(Slice { param, range });
        }
        start += size;
    }
    slices
}

fn within(start: usize, from: usize, to: usize) -> Range<usize> {
    from - start..to - start
}

fn total(sizes: &[usize]) -> usize {
    sizes.iter().sum()
}

/// Whole parameters that `belongs` gives to the rank, by index, start and size.
fn whole(sizes: &[usize], belongs: impl Fn(usize, usize, usize) -> bool) -> Vec<Slice> {
    let (mut slices, mut start) = (Vec::new(), 0);
    for (param, &size) in sizes.iter().enumerate() {
        if size > 0 && belongs(param, start, size) {
            let range = 0..size;
            slices.push(Slice { param, range });
        }
        start += size;
    }
    slices
}

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.1", cuts_parameters_where_chunks_end, "A parameter belongs as a whole to the rank in whose chunk it begins; it must be cut where the chunk ends.",
    slices_of_rank: |sizes, rank, p| {
        let own = chunk(total(sizes), rank, p);
        whole(sizes, |_, start, _| own.contains(&start))
    }),
    wrong!("9.1", cuts_parameters_where_chunks_end, "Whole parameters are dealt out in turn: a large one makes its rank keep most of the model.",
        slices_of_rank: |sizes, rank, p| whole(sizes, |param, _, _| param % p == rank)),
    wrong!("9.1", cuts_parameters_where_chunks_end, "The parameters are divided into chunks, by their number; divide the list of their elements.",
    slices_of_rank: |sizes, rank, p| {
        let own = chunk(sizes.len(), rank, p);
        whole(sizes, |param, _, _| own.contains(&param))
    }),
    wrong!("9.1", cuts_parameters_where_chunks_end, "Each parameter is divided by itself; the chunk is one piece of the list of all parameters.",
    slices_of_rank: |sizes, rank, p| {
        let part = |(param, &size): (usize, &usize)| Slice { param, range: chunk(size, rank, p) };
        sizes.iter().enumerate().map(part).filter(|s| !s.range.is_empty()).collect()
    }),
    wrong!("9.1", cuts_parameters_where_chunks_end, "A parameter that begins in a chunk before is left out; the rank also owns the part of it that is in its own chunk.",
    slices_of_rank: |sizes, rank, p| {
        let mut all = (REFERENCE.slices_of_rank)(sizes, rank, p);
        all.retain(|part| part.range.start == 0);
        all
    }),
    wrong!("9.1", counts_from_the_start_of_each_parameter, "The ranges are positions in the list of all parameters; subtract the position at which the parameter starts.",
        slices_of_rank: |sizes, rank, p| parts(sizes, chunk(total(sizes), rank, p), |_, from, to| from..to, |from, to| from < to)),
    wrong!("9.1", counts_from_the_start_of_each_parameter, "Each range is start and length; a range in Rust is start and end.",
        slices_of_rank: |sizes, rank, p| parts(sizes, chunk(total(sizes), rank, p), |start, from, to| from - start..to - from, |from, to| from < to)),
    wrong!("9.1", counts_from_the_start_of_each_parameter, "A range begins at 0 although the rank before has the beginning of the parameter: count from the parameter's first element, not from the chunk's.",
        slices_of_rank: |sizes, rank, p| parts(sizes, chunk(total(sizes), rank, p), |_, from, to| 0..to - from, |from, to| from < to)),
    wrong!("9.1", leaves_out_empty_parts, "Parameters without elements are listed, with an empty range.",
        slices_of_rank: |sizes, rank, p| parts(sizes, chunk(total(sizes), rank, p), within, |from, to| from <= to)),
    wrong!("9.1", covers_every_element_once, "The chunks have total/p elements, rounded down, and the rest is not shared out as by `chunk`.",
        slices_of_rank: |sizes, rank, p| parts(sizes, even(total(sizes), rank, p), within, |from, to| from < to)),
    wrong!("9.1", covers_every_element_once, "The chunks have total/p elements, rounded up, so that the last ranks own less or nothing: use `chunk`.",
        slices_of_rank: |sizes, rank, p| parts(sizes, padded(total(sizes), rank, p), within, |from, to| from < to)),
    wrong!("9.1", returns_one_part_for_each_parameter, "There is one part only; a chunk may touch several parameters.",
    slices_of_rank: |sizes, rank, p| {
        let mut all = (REFERENCE.slices_of_rank)(sizes, rank, p);
        all.truncate(1);
        all
    }),
    wrong!("9.1", returns_one_part_for_each_parameter, "Every element is a part; neighbours in one parameter belong to one range.",
    slices_of_rank: |sizes, rank, p| {
        let all = (REFERENCE.slices_of_rank)(sizes, rank, p);
        let each = |s: Slice| s.range.map(move |i| Slice { param: s.param, range: i..i + 1 });
        all.into_iter().flat_map(each).collect()
    }),
    wrong!("9.1", cuts_parameters_where_chunks_end, "A parameter that is cut belongs to nobody: a rank also owns the part of it that is in its chunk.",
    slices_of_rank: |sizes, rank, p| {
        let own = chunk(total(sizes), rank, p);
        whole(sizes, |_, start, size| own.start <= start && start + size <= own.end)
    }),
    wrong!("9.1", counts_from_the_start_of_each_parameter, "The ranges count from the beginning of the rank's chunk; count from the first element of each parameter.",
    slices_of_rank: |sizes, rank, p| {
        let own = chunk(total(sizes), rank, p);
        let mut all = parts(sizes, own.clone(), |_, from, to| from..to, |from, to| from < to);
        for part in &mut all {
            part.range = part.range.start - own.start..part.range.end - own.start;
        }
        all
    }),
    wrong!("9.1", counts_from_the_start_of_each_parameter, "The position does not advance past a parameter that the chunk does not touch; later ones are then misplaced.",
    slices_of_rank: |sizes, rank, p| {
        let own = chunk(total(sizes), rank, p);
        let (mut slices, mut start) = (Vec::new(), 0);
        for (param, &size) in sizes.iter().enumerate() {
            let (from, to) = (own.start.max(start), own.end.min(start + size));
            if from < to {
                let range = from - start..to - start;
                slices.push(Slice { param, range });
                start += size;
            }
        }
        slices
    }),
    wrong!("9.1", leaves_out_empty_parts, "The list ends at a parameter without elements; leave it out, and go on with the next one.",
    slices_of_rank: |sizes, rank, p| {
        let all = (REFERENCE.slices_of_rank)(sizes, rank, p);
        let first = all.first().map_or(0, |s| s.param);
        let end = (first..sizes.len()).find(|&i| sizes[i] == 0).unwrap_or(sizes.len());
        all.into_iter().filter(|s| s.param < end).collect()
    }),
    wrong!("9.1", leaves_out_empty_parts, "Only parameters with elements are numbered; `param` counts all of them.",
    slices_of_rank: |sizes, rank, p| {
        let full: Vec<usize> = sizes.iter().copied().filter(|&n| n > 0).collect();
        (REFERENCE.slices_of_rank)(&full, rank, p)
    }),
];
