use canopy::parallel::chunk;
use grader::{Case, Verdict, draw, given};

use crate::Lesson09;

/// Tests the parts of `rank`. Each expected part is (parameter, start, end).
fn check(
    answer: &Lesson09,
    sizes: &[usize],
    (rank, world): (usize, usize),
    expected: &[[usize; 3]],
) -> Verdict {
    let case = given(format!("sizes {sizes:?}, rank {rank} of {world}"));
    let got = (answer.slices_of_rank)(sizes, rank, world);
    let got: Vec<usize> = got
        .iter()
        .flat_map(|s| [s.param, s.range.start, s.range.end])
        .collect();
    compare(&case, &got, &expected.concat())
}

fn compare(case: &Case, got: &Vec<usize>, expected: &Vec<usize>) -> Verdict {
    case.close("parts, each as parameter, start, end", got, expected)
}

/// The parts, element by element.
fn parts(sizes: &[usize], rank: usize, world: usize) -> Vec<usize> {
    let elements: Vec<(usize, usize)> = sizes
        .iter()
        .enumerate()
        .flat_map(|(param, &size)| (0..size).map(move |i| (param, i)))
        .collect();
    let mut parts: Vec<[usize; 3]> = Vec::new();
    for &(param, i) in &elements[chunk(elements.len(), rank, world)] {
        match parts.last_mut() {
            Some(last) if last[0] == param => last[2] = i + 1,
            _ => parts.push([param, i, i + 1]),
        }
    }
    parts.concat()
}

pub fn cuts_parameters_where_chunks_end(answer: &Lesson09) -> Verdict {
    // Each way of giving out whole parameters has another result.
    check(answer, &[5, 1, 1, 1], (0, 2), &[[0, 0, 4]])?;
    check(answer, &[6], (0, 2), &[[0, 0, 3]])?;
    check(answer, &[6], (1, 2), &[[0, 3, 6]])?;
    check(answer, &[5, 3], (0, 2), &[[0, 0, 4]])?;
    check(answer, &[9], (1, 3), &[[0, 3, 6]])
}

pub fn counts_from_the_start_of_each_parameter(answer: &Lesson09) -> Verdict {
    check(answer, &[5, 3], (1, 2), &[[0, 4, 5], [1, 0, 3]])?;
    let mut draw = draw();
    let (a, b) = (draw.whole(2, 9), draw.whole(10, 30));
    let half = (a + 2 * b) / 2;
    check(answer, &[a, 2 * b], (1, 2), &[[1, half - a, 2 * b]])
}

pub fn returns_one_part_for_each_parameter(answer: &Lesson09) -> Verdict {
    let each = draw().whole(2, 6);
    let sizes = [each, 1, 2, each];
    let all = [[0, 0, each], [1, 0, 1], [2, 0, 2], [3, 0, each]];
    check(answer, &sizes, (0, 1), &all)?;
    // 4 and 4 of 8 numbers, both in three parameters.
    check(
        answer,
        &[1, 2, 2, 2, 1],
        (0, 2),
        &[[0, 0, 1], [1, 0, 2], [2, 0, 1]],
    )?;
    check(
        answer,
        &[1, 2, 2, 2, 1],
        (1, 2),
        &[[2, 1, 2], [3, 0, 2], [4, 0, 1]],
    )
}

pub fn leaves_out_empty_parts(answer: &Lesson09) -> Verdict {
    check(answer, &[0, 4, 0, 4, 0], (0, 2), &[[1, 0, 4]])?;
    check(answer, &[0, 4, 0, 4, 0], (1, 2), &[[3, 0, 4]])?;
    // Two parameters before the empty one, so that an answer with one part differs from one that ends there.
    check(answer, &[4, 3, 0, 2], (0, 1), &[[0, 0, 4], [1, 0, 3], [3, 0, 2]])?;
    check(answer, &[2], (0, 3), &[])?;
    check(answer, &[2], (1, 3), &[[0, 0, 1]])?;
    check(answer, &[], (1, 3), &[])?;
    check(answer, &[0, 0], (0, 1), &[])
}

pub fn covers_every_element_once(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    for world in 1..=9 {
        let count = draw.whole(1, 7);
        let sizes: Vec<usize> = (0..count).map(|_| draw.whole(0, 12)).collect();
        for rank in 0..world {
            let case = given(format!("sizes {sizes:?}, rank {rank} of {world}"));
            let got = (answer.slices_of_rank)(&sizes, rank, world);
            let got: Vec<usize> = got
                .iter()
                .flat_map(|s| [s.param, s.range.start, s.range.end])
                .collect();
            compare(&case, &got, &parts(&sizes, rank, world))?;
        }
    }
    Ok(())
}
