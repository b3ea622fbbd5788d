use grader::{Verdict, draw, given};

use crate::Lesson03;

pub fn fills_buckets_by_length(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let lengths: Vec<usize> = (0..24)
        .map(|_| draw.whole(1, 300))
        .filter(|l| ![10, 50, 200].contains(l))
        .collect();
    let order = shuffled(&mut draw, lengths.len());
    check(answer, &lengths, &order, &[10, 50, 200], 3)?;
    check(answer, &lengths, &order, &[], 5)
}

pub fn includes_the_bound_in_its_bucket(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let bounds = [10, draw.whole(20, 30), 60];
    let lengths = [
        bounds[0],
        bounds[0] + 1,
        bounds[1],
        bounds[1] + 1,
        bounds[2],
        bounds[2] + 1,
        900,
        1,
    ];
    check(answer, &lengths, &shuffled(&mut draw, 8), &bounds, 2)
}

pub fn emits_a_batch_when_its_bucket_is_full(answer: &Lesson03) -> Verdict {
    // The long bucket is full first, and then the short one, twice.
    let lengths = [90, 5, 95, 6, 7, 8, 99, 91];
    check(answer, &lengths, &[0, 1, 2, 3, 4, 5, 6, 7], &[10, 100], 2)
}

pub fn keeps_the_order_within_a_batch(answer: &Lesson03) -> Verdict {
    let size = draw().whole(3, 5);
    let lengths: Vec<usize> = (0..2 * size).map(|i| 40 - 3 * i).collect();
    // 1, 0, 3, 2, …: sorted neither by record nor by length.
    let order: Vec<usize> = (0..2 * size).map(|i| i ^ 1).collect();
    check(answer, &lengths, &order, &[100], size)
}

pub fn emits_the_rest_at_the_end(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let lengths: Vec<usize> = (0..draw.whole(5, 7)).map(|i| [5, 50, 500][i % 3]).collect();
    let order: Vec<usize> = (0..lengths.len()).rev().collect();
    check(answer, &lengths, &order, &[10, 100], 4)?;
    check(answer, &lengths, &[], &[10, 100], 4)
}

fn shuffled(draw: &mut grader::Draw, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, draw.whole(0, i));
    }
    order
}

fn check(answer: &Lesson03, lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Verdict {
    let case = given(format!(
        "lengths {lengths:?}, order {order:?}, bounds {bounds:?}, size {size}"
    ));
    let got = (answer.length_buckets)(lengths, order, bounds, size);
    // For each batch: when it came about, whether it was full, its bucket.
    let bucket = |r: usize| bounds.iter().filter(|&&b| b < lengths[r]).count();
    let mut expected: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    for b in 0..=bounds.len() {
        let places: Vec<usize> = (0..order.len()).filter(|&at| bucket(order[at]) == b).collect();
        for batch in places.chunks(size) {
            let last = batch[batch.len() - 1];
            let when = if batch.len() == size { last } else { order.len() };
            expected.push((when, b, batch.iter().map(|&at| order[at]).collect()));
        }
    }
    expected.sort();
    let expected: Vec<Vec<usize>> = expected.into_iter().map(|e| e.2).collect();
    let sizes = |of: &[Vec<usize>]| of.iter().map(Vec::len).collect::<Vec<_>>();
    case.close("records, batch after batch", &got.concat(), &expected.concat())?;
    case.close("sizes of the batches", &sizes(&got), &sizes(&expected))
}
