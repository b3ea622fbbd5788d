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
        let batches = || (of.length_buckets)(&lengths, &order, &bounds, size);
        let first = batches();
        // A map gives its buckets in another order each time: only rests of several buckets show it.
        let same = (0..12).all(|_| batches() == first).to_string();
        let facts = Facts::default().text("whether later calls return the same", same);
        facts.items("batches", first)
    };
    case.same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.4";
    by batches {
        fills_buckets_by_length: "whose bound is at least its length",
            "A record's bucket is the count of bounds below its length; a full one alone is a batch, then empty." => |d| {
            let ranges = [(1, 4), (11, 25), (5, 9), (51, 90), (26, 49), (201, 400), (91, 199), (401, 900)];
            // Short buckets are full first, so that only the choice of the bucket is tested.
            vec![(ranges.map(|(low, high)| d.whole(low, high)).into(), (0..8).collect(), vec![10, 50, 200], 2)]
        };
        includes_the_bound_in_its_bucket: "whose bound is at least its length",
            "A record as long as a bound belongs into its bucket: count the bounds with `bound < length`." => |d| {
            let middle = d.whole(20, 30);
            let lengths = vec![9, 11, 10, middle + 1, middle, 61, 60, 62];
            vec![(lengths, (0..8).collect(), vec![10, middle, 60], 2), (vec![7, 7, 8, 8], (0..4).collect(), vec![7], 2)]
        };
        visits_only_the_records_of_the_order: "which may leave out some",
            "Visit `for &record in order`, which may be shorter than `lengths`, and look up `lengths[record]`." =>
            |_| vec![(vec![7, 8, 50, 99, 60, 9, 70, 5, 80, 6], vec![7, 2, 9, 4], vec![10], 2)];
        emits_a_batch_when_its_bucket_is_full: "As soon as a bucket has",
            "As soon as a bucket has `size` records, push it to the batches and empty it, with `std::mem::take`." =>
            // The long bucket is full first, and then the short one, twice.
            |_| vec![(vec![90, 5, 95, 6, 7, 8, 96, 99], (0..8).collect(), vec![10, 100], 2)];
        keeps_the_order_within_a_batch: "in their order",
            "Visit the records as `order` lists them, and do not sort the records of a batch." => |d| {
            let size = d.whole(3, 5);
            // 1, 0, 3, 2, …: sorted neither by record nor by length.
            let order = (0..2 * size).map(|i| i ^ 1).collect();
            vec![((0..2 * size).map(|i| 40 - 3 * i).collect(), order, vec![100], size)]
        };
        emits_the_rest_at_the_end: "the rest of each bucket",
            "At the end, each bucket that is not empty is one more batch, that of the shortest records first." => |d| {
            let lengths: Vec<usize> = (0..d.whole(5, 7)).map(|i| [5, 50, 500][i % 3]).collect();
            let order = (0..lengths.len()).rev().collect();
            // Rests of one and of three of four, buckets that are empty, and buckets that have just been emptied.
            vec![
                (lengths.clone(), order, vec![10, 100], 4),
                (vec![500, 5, 500, 500, 500], (0..5).collect(), vec![10, 100, 1_000], 4),
                (vec![5, 500, 5, 500], (0..4).collect(), vec![10, 100], 2),
                (vec![500, 5, 500, 500], vec![3, 1, 2, 0], vec![10, 100], 4),
                (lengths, Vec::new(), vec![10, 100], 4),
            ]
        };
        fills_many_buckets: "As soon as a bucket has",
            "After each record, look whether its own bucket is full: it alone is the next batch, and emptied." => |d| {
            // The last bucket gets full batches, and a rest of one. So does each other one, in another number.
            let kinds = [(1, 9, 4), (11, 49, 8), (51, 199, 5), (201, 900, 7)];
            let kinds = kinds.into_iter().flat_map(|(low, high, count)| vec![(low, high); count]);
            let lengths = kinds.map(|(low, high)| d.whole(low, high)).collect();
            let (all, some) = (mixed(d, (0..24).collect()), mixed(d, (5..30).collect())[..13].to_vec());
            let others = (0..30).map(|_| d.whole(1, 120)).collect();
            vec![(mixed(d, lengths), all, vec![10, 50, 200], 3), (others, some, vec![30, 60], 3)]
        };
        accepts_one_bucket_and_batches_of_one: "may be empty",
            "Without bounds, all records are in the one additional bucket; `size` may be 1, or large." => |d| {
            let lengths: Vec<usize> = (0..9).map(|_| d.whole(1, 300)).collect();
            let order = mixed(d, (0..9).collect());
            let with = |bounds: &[usize], size| (lengths.clone(), order.clone(), bounds.to_vec(), size);
            vec![with(&[], 4), with(&[100], 1), with(&[100], 1_000), (vec![], vec![], vec![], 3)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.4" length_buckets;
    1 "`order` is not used: the records are visited as 0, 1, 2, …";
    2 "The records are sorted by length first: visit them in the order of the epoch.";
    3 "A record as long as the bound belongs in that bucket: `bound < length`, not `<=`.";
    4 "A record longer than all bounds is lost: it goes into an additional last bucket.";
    5 "Records longer than all bounds share the bucket of the last bound: they need an additional one.";
    6 "The bounds are not used: the order is only divided.";
    7 "The same call returns its batches in another order: keep the buckets in a list, not in a `HashMap`.";
    8 "Buckets that are empty at the end become batches without records.";
};
