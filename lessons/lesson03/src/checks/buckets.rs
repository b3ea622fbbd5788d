use grader::{Verdict, draw, given};

use super::{random::mixed, told};
use crate::Lesson03;

pub fn fills_buckets_by_length(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let bounds = [10, 50, 200];
    // The last bucket gets full batches, and a rest of one. So does each other one, in another number.
    let mut lengths: Vec<usize> = [(1, 9, 4), (11, 49, 8), (51, 199, 5), (201, 900, 7)]
        .into_iter()
        .flat_map(|(low, high, count)| vec![(low, high); count])
        .map(|(low, high)| draw.whole(low, high))
        .collect();
    lengths = mixed(&mut draw, lengths);
    let order = mixed(&mut draw, (0..lengths.len()).collect());
    check(answer, &lengths, &order, &bounds, 3)
}

pub fn includes_the_bound_in_its_bucket(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let middle = draw.whole(20, 30);
    let lengths = [10, 11, middle, middle + 1, 60, 61, 900, 1];
    let order = mixed(&mut draw, (0..8).collect());
    check(answer, &lengths, &order, &[10, middle, 60], 2)?;
    check(answer, &[7, 7, 7, 8, 7], &[0, 1, 2, 3, 4], &[7], 2)
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
    // Rests of one and of three of four, buckets that are empty, and buckets that have just been emptied.
    check(
        answer,
        &[500, 5, 500, 500, 500],
        &[0, 1, 2, 3, 4],
        &[10, 100, 1_000],
        4,
    )?;
    check(answer, &[5, 500, 5, 500], &[0, 1, 2, 3], &[10, 100], 2)?;
    check(answer, &[500, 5, 500, 500], &[3, 1, 2, 0], &[10, 100], 4)?;
    check(answer, &lengths, &[], &[10, 100], 4)
}

pub fn visits_only_the_records_of_the_order(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let lengths: Vec<usize> = (0..30).map(|_| draw.whole(1, 120)).collect();
    let mut order = mixed(&mut draw, (5..30).collect());
    order.truncate(13);
    check(answer, &lengths, &order, &[30, 60], 3)
}

pub fn accepts_one_bucket_and_batches_of_one(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let lengths: Vec<usize> = (0..9).map(|_| draw.whole(1, 300)).collect();
    let order = mixed(&mut draw, (0..9).collect());
    check(answer, &lengths, &order, &[], 4)?;
    check(answer, &lengths, &order, &[100], 1)?;
    check(answer, &lengths, &order, &[100], 1_000)?;
    check(answer, &[], &[], &[], 3)
}

fn check(answer: &Lesson03, lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Verdict {
    let input = format!("lengths {lengths:?}, order {order:?}, bounds {bounds:?}, size {size}");
    given(input.clone());
    let got = (answer.length_buckets)(lengths, order, bounds, size);
    // A map gives its buckets in another order each time: only rests of several buckets show it.
    if (0..12).any(|_| (answer.length_buckets)(lengths, order, bounds, size) != got) {
        let lines = vec![
            "expected  the same batches for the same call".into(),
            "got       other batches for each call".into(),
        ];
        return told(input, "batches of a second call", &[1], lines);
    }
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
    let Some(first) = (0..expected.len().max(got.len())).find(|&at| got.get(at) != expected.get(at)) else {
        return Ok(());
    };
    let lines = vec![
        format!("expected  {}", shown(&expected, first)),
        format!("got       {}", shown(&got, first)),
        format!("first at  batch {first}"),
    ];
    if let Some(kind) = order_within(lengths, &got, &expected) {
        return told(input, "order within the batches", &[kind], lines);
    }
    let along: Vec<usize> = got
        .iter()
        .flatten()
        .filter_map(|&r| lengths.get(r))
        .copied()
        .collect();
    if along.len() == order.len() && along.len() > 10 && along.is_sorted() {
        return told(input, "batches", &[usize::MAX], lines);
    }
    // Each batch after its length.
    let all = got.iter().flat_map(|batch| [&[batch.len()], &batch[..]].concat());
    told(input, "batches", &all.collect::<Vec<_>>(), lines)
}

/// If only the order of the records within batches is wrong: 1 by record, 2 by length, 3 reversed, 4 another.
fn order_within(lengths: &[usize], got: &[Vec<usize>], expected: &[Vec<usize>]) -> Option<usize> {
    let sorted = |batch: &Vec<usize>| {
        let mut batch = batch.clone();
        batch.sort_unstable();
        batch
    };
    if !got.iter().map(sorted).eq(expected.iter().map(sorted)) {
        return None;
    }
    let of_these = |test: &dyn Fn(&[usize], &[usize]) -> bool| {
        let mut other = got.iter().zip(expected).filter(|(g, e)| g != e);
        other.all(|(g, e)| test(g, e))
    };
    Some(if of_these(&|g, _| g.is_sorted()) {
        1
    } else if of_these(&|g, _| g.is_sorted_by_key(|&r| lengths[r])) {
        2
    } else if of_these(&|g, e| g.iter().rev().eq(e)) {
        3
    } else {
        4
    })
}

/// The batches from `first` on that fit in a line.
fn shown(batches: &[Vec<usize>], first: usize) -> String {
    let mut text = if first > 0 { "… " } else { "" }.to_owned();
    for batch in batches.iter().skip(first) {
        let next = format!("{batch:?} ");
        if text.chars().count() + next.len() > 50 {
            return text + "…";
        }
        text += &next;
    }
    if batches.len() <= first {
        text += "no more";
    }
    text.trim_end().to_owned()
}
