//! 8.1: a rank's share of an epoch.

use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson08, REFERENCE, answers};

/// The order, the number of ranks, `drop_tail`.
type Input = (Vec<usize>, usize, bool);

fn shares(answer: &Lesson08, (order, world, drop_tail): Input) -> Verdict {
    let of = |lesson: &Lesson08| {
        let shares = (0..world).map(|rank| (lesson.share_of_epoch)(&order, rank, world, drop_tail));
        Facts::default().items("shares of rank 0, 1, 2, …", shares)
    };
    let case = given(format!("{world} ranks, drop_tail {drop_tail}, order {order:?}"));
    case.same(of(answer), of(&REFERENCE))
}

/// `n` records that differ from their positions, and from each other.
fn order(d: &mut Draw, n: usize) -> Vec<usize> {
    let first = d.whole(100, 200);
    (0..n).map(|i| first + (i * 7 + 3) % 97).collect()
}

/// Orders with a tail: of two records on 3 ranks, of one, and of any number.
fn uneven(d: &mut Draw, drop_tail: bool) -> Vec<Input> {
    let (world, each) = (d.whole(3, 9), d.whole(2, 4));
    let tail = d.whole(1, world - 1);
    vec![
        (vec![5, 6, 7, 8, 9, 2, 3, 1], 3, drop_tail),
        (vec![5, 6, 7, 8, 9, 2, 3], 3, drop_tail),
        (order(d, world * each + tail), world, drop_tail),
    ]
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.1";
    by shares {
        strides_by_world_size: "Every `world_size`-th record",
            "Take every `world_size`-th record of `order`, the first at index `rank`, in this order." => |d| {
            let (world, each) = (d.whole(2, 5), d.whole(2, 4));
            let order = order(d, world * each);
            let known = (vec![5, 3, 8, 1, 9, 4], 2, false);
            vec![known, (order.clone(), world, false), (order.clone(), world, true), (order, 1, false)]
        };
        drops_the_tail_if_asked: "`drop_tail` drops the tail",
            "With `drop_tail`, each rank gets `order.len() / world_size` records; the rest at the end is dropped." =>
            |d| uneven(d, true);
        wraps_around_if_uneven: "extended by its own beginning",
            "Without `drop_tail`, extend the order before you stride: its first record follows its last." =>
            |d| uneven(d, false);
        repeats_a_short_order: "as often as necessary",
            "An order that is shorter than the number of ranks is repeated until each rank has one record." => |d| {
            let n = d.whole(2, 3);
            vec![(vec![4, 2, 9], 2, false), (vec![4], 3, false), (order(d, n), d.whole(2 * n + 1, 9), false)]
        };
        is_empty_for_an_empty_order: "equally many",
            "Shares are empty without records, and with `drop_tail` if there are fewer records than ranks." =>
            |d| vec![(vec![], 2, false), (vec![], 3, true), (order(d, 5), 4, true), (order(d, 3), 4, true)];
        accepts_any_number_of_ranks: "All ranks get equally many",
            "On any number of ranks, all get equally many records, also if one is in `order` twice." => |d| {
            let first = d.whole(1, 9);
            let sizes = (1..=9).flat_map(|world| (0..=20).map(move |n| (world, n)));
            let both = |(world, n)| {
                // Some records are there twice.
                let order: Vec<usize> = (0..n).map(|i| first + i * i % 11).collect();
                [false, true].map(|drop_tail| (order.clone(), world, drop_tail))
            };
            sizes.flat_map(both).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.1" share_of_epoch;
    1 "Each rank gets one contiguous piece of the order; it should stride by world_size.";
    2 "The result contains positions in `order` instead of its records.";
    3 "Ranks are numbered from 0: rank r starts at index r of the order.";
    4 "If world_size divides the length, nothing is missing: divide with `div_ceil`, which rounds up.";
    5 "The shares have different lengths: first extend the order or drop its tail, then stride.";
};
