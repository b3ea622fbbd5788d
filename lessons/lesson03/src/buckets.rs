//! 3.4: length buckets.

use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson03, REFERENCE, answers, subsample::mixed};

/// Lengths, order, bounds, size.
type Input = (Vec<usize>, Vec<usize>, Vec<usize>, usize);

fn batches(answer: &Lesson03, (lengths, order, bounds, size): Input) -> Verdict {
    let case = given(format!(
        "lengths {lengths:?}, order {order:?}, bounds {bounds:?}, size {size}"
    ));
    let facts = |of: &Lesson03| {
        Facts::default().items("batches", (of.length_buckets)(&lengths, &order, &bounds, size))
    };
    case.same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.4";
    by batches {
        fills_buckets_by_length: "with `bound >= length`",
            "A record's bucket is the count of bounds with `bound < length`; a full one is the next batch at once, then empty." => |d| {
            let ranges = [(1, 4), (11, 25), (5, 9), (51, 90), (26, 49), (201, 400), (91, 199), (401, 900)];
            // Short buckets are full first, so that only the choice of the bucket is tested.
            let short = ranges.map(|(low, high)| d.whole(low, high)).into();
            let middle = d.whole(20, 30);
            let at_bounds = vec![9, 11, 10, middle + 1, middle, 61, 60, 62];
            // The long bucket is full first, and then the short one, twice.
            let long = vec![90, 5, 95, 6, 7, 8, 96, 99];
            let inputs = [(short, vec![10, 50, 200]), (at_bounds, vec![10, middle, 60]), (long, vec![10, 100])];
            inputs.map(|(lengths, bounds)| (lengths, (0..8).collect(), bounds, 2)).into()
        };
        visits_the_records_of_the_order: "each record of `order`",
            "Visit `for &record in order` as it is, and look up `lengths[record]`; sort nothing." => |d| {
            let size = d.whole(3, 5);
            // 1, 0, 3, 2, …: sorted neither by record nor by length.
            let of = |length: fn(usize) -> usize| (0..2 * size).map(length).collect();
            let lengths = vec![7, 8, 50, 99, 60, 9, 70, 5, 80, 6];
            vec![(lengths, vec![7, 2, 9, 4], vec![10], 2), (of(|i| 40 - 3 * i), of(|i| i ^ 1), vec![100], size)]
        };
        emits_the_rest_at_the_end: "The rests follow",
            "At the end, each bucket that is not empty is one more batch, that of the shortest records first." => |d| {
            let lengths: Vec<usize> = (0..d.whole(5, 7)).map(|i| [5, 50, 500][i % 3]).collect();
            let order = (0..lengths.len()).rev().collect();
            // Rests of one and of three of four, and buckets that are empty.
            vec![
                (lengths.clone(), order, vec![10, 100], 4),
                (vec![500, 5, 500, 500, 500], (0..5).collect(), vec![10, 100, 1_000], 4),
                (vec![500, 5, 500, 500], vec![3, 1, 2, 0], vec![10, 100], 4), (lengths, Vec::new(), vec![10, 100], 4),
            ]
        };
        fills_many_buckets: "or into a last one",
            "Fill and empty each bucket alone, in the order of the visits. Without bounds, only the additional one is left." => |d| {
            let lengths: Vec<usize> = (0..30).map(|_| d.whole(1, 120)).collect();
            let order = mixed(d, (0..30).collect())[..23].to_vec();
            let with = |bounds: &[usize], size| (lengths.clone(), order.clone(), bounds.to_vec(), size);
            vec![with(&[30, 60, 90], 3), with(&[30, 60], 3), with(&[], 4), with(&[100], 1), with(&[100], 1_000),
                (vec![], vec![], vec![], 3)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.4" length_buckets;
    1 "The records are sorted by length first: visit them in the order of the epoch.";
    2 "A record longer than all bounds is lost: it goes into an additional last bucket.";
    3 "Records longer than all bounds share the bucket of the last bound: they need an additional one.";
    4 "A bucket that is empty at the end becomes a batch without records: leave it out.";
};
