//! 3.1: the order of an epoch.

use std::collections::{BTreeMap, BTreeSet};

use grader::{Case, Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson03, REFERENCE, answers};

/// Records, seed, epoch.
type Input = (usize, u64, u64);
/// Seed and epoch.
type Pair = (u64, u64);

fn case((n, seed, epoch): Input, more: &str) -> Case {
    given(format!("epoch_order({n}, {seed}, {epoch}){more}"))
}

fn once(answer: &Lesson03, input @ (n, seed, epoch): Input) -> Verdict {
    let case = case(input, "");
    let mut order = (answer.epoch_order)(n, seed, epoch);
    order.sort_unstable();
    case.close("the order, sorted", &order, &Vec::from_iter(0..n))
}

fn again(answer: &Lesson03, input @ (n, seed, epoch): Input) -> Verdict {
    let case = case(input, ", again, after other calls, and on another thread");
    let order = || (answer.epoch_order)(n, seed, epoch);
    let mut orders = vec![order(), order()];
    (0..3).for_each(|epoch| drop((answer.epoch_order)(n - 3, seed + 1, epoch)));
    orders.push(order());
    // As after a restart: nothing that a thread keeps to itself is there.
    orders.push(std::thread::scope(|s| s.spawn(order).join()).unwrap_or_default());
    orders.dedup();
    case.close("different orders", orders.len().min(2), 1usize)
}

fn different(answer: &Lesson03, input @ (n, seed, _): Input) -> Verdict {
    let case = case(input, ", and with the next three seeds and epochs");
    let count = |pair: fn(u64) -> Pair| {
        let order = |i| (answer.epoch_order)(n, seed + pair(i).0, pair(i).1);
        BTreeSet::from_iter((0..4).map(order)).len()
    };
    case.close("different orders of one seed", count(|i| (0, i)), 4usize)?;
    case.close("different orders of epoch 0", count(|i| (i, 0)), 4usize)?;
    case.close("different orders of epoch 1", count(|i| (i, 1)), 4usize)
}

/// How often each result comes: by a sign, so that two answers with the same fault have the same facts. What a right
/// answer does by chance is called wrong less than once in a million cases.
pub fn frequencies<T: Ord + std::fmt::Debug>(results: impl Iterator<Item = T>, expected: usize) -> Facts {
    let mut counts = BTreeMap::new();
    results.for_each(|result| *counts.entry(result).or_insert(0usize) += 1);
    let off = (5.5 * (expected as f64).sqrt()) as usize;
    let sign = |(result, count): (T, usize)| {
        let level = usize::from(count + off >= expected) + usize::from(count > expected + off);
        let digits = format!("{result:?}").replace([',', ' ', '[', ']', '{', '}'], "");
        digits + ["-", "=", "+"][level]
    };
    let what = "which come (= as often as expected, - less, + more)";
    Facts::default().items(what, counts.into_iter().map(sign))
}

/// The orders of three records, each with the next `more`, for 24000 epochs or, in epoch 1, as many seeds.
fn equally(answer: &Lesson03, (seed, each, more): (u64, &str, usize)) -> Verdict {
    let case = given(format!("epoch_order(3, ..) for 24000 {each}, seed {seed}"));
    let facts = |of: &Lesson03| {
        let pair = |i| if each == "seeds" { (seed + i, 1) } else { (seed, i) };
        let order = |i| (of.epoch_order)(3, pair(i).0, pair(i).1);
        let orders: Vec<Vec<usize>> = (0..24_000).map(order).collect();
        frequencies(orders.windows(1 + more), 4_000 / 6usize.pow(more as u32))
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// Pairs that are often mapped to the same number: sum, exclusive or, product, packed with a factor, cut to fewer bits.
fn pairs(seed: u64, epoch: u64) -> Vec<Pair> {
    let round = (1..64).map(|k| 1 << k).chain((1..19).map(|k| 10u64.pow(k)));
    let round = round.flat_map(|factor| [factor - 1, factor, factor + 1]);
    let odd = [37, 97, 137, 1_009, 7_919, 10_007, 100_003, 1_000_003, 1_000_007];
    let large = [
        1_000_000_007,
        0x9E37_79B9,
        0x5851_F42D_4C95_7F2D,
        0x9E37_79B9_7F4A_7C15,
    ];
    let cut = [8, 16, 31, 32, 48, 63].map(|bits| 1 << bits);
    let mut all = vec![(seed, epoch + 1), (seed + 1, epoch), (seed, 1), (seed ^ 1, 0)];
    all.extend([(seed, epoch), (epoch, seed), (2 * seed, epoch), (seed, 2 * epoch)]);
    all.extend(round.chain(odd).chain(large).flat_map(|k| [(0, k), (k, 0)]));
    all.extend(cut.iter().flat_map(|high| [(seed + high, 3), (seed, 3 + high)]));
    all.extend([(0, 1), (1, 0), (seed, 3)]);
    all
}

fn independent(answer: &Lesson03, input @ (n, seed, epoch): Input) -> Verdict {
    let case = case(input, ", and for many other pairs of seed and epoch");
    let (mut seen, mut same) = (BTreeMap::new(), Vec::new());
    for pair in pairs(seed, epoch) {
        let order = (answer.epoch_order)(n, pair.0, pair.1);
        let before = *seen.entry(order).or_insert(pair);
        same.extend((before != pair).then_some([before, pair]));
    }
    let facts = |same: Vec<[Pair; 2]>| Facts::default().items("two pairs with the same order", same);
    case.same(facts(same), facts(Vec::new()))
}

/// In a random order, a record is a third of the epoch from its number, and every second one is less than the next. The
/// limits are more than ten standard deviations away.
fn mixed(answer: &Lesson03, input @ (n, seed, epoch): Input) -> Verdict {
    let case = case(input, "");
    let order = (answer.epoch_order)(n, seed, epoch);
    let moved = order.iter().enumerate().map(|(at, &r)| at.abs_diff(r));
    let far = moved.sum::<usize>() / n;
    let rising = order.windows(2).filter(|w| w[0] < w[1]).count();
    let got = |count: usize| format!("{count} of {n}");
    case.require("mean distance of a record from its number", far > n / 4, got(far))?;
    let half = rising.abs_diff(n / 2) < n / 15;
    case.require("records less than the next", half, got(rising))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.1";
    by once {
        visits_each_record_once: "each once",
            "Start with a list of 0..n and only swap: then no record comes twice, and none is missing." =>
            |d| vec![(8, 1, 0), (d.whole(12, 19), d.whole(2, 99) as u64, d.whole(0, 30) as u64), (3_000, 7, 2)];
        accepts_zero_and_one_record: "may be 0",
            "Without records the order is empty: `n - 1` and `below(0)` panic." => |_| vec![(0, 3, 4), (1, 3, 4)];
    }
    by again {
        depends_only_on_seed_and_epoch: "depends only on",
            "Create the generator in each call, from seed and epoch; nothing else, such as a hash map, may decide." =>
            |d| vec![(d.whole(15, 19), d.whole(1, 99) as u64, d.whole(1, 9) as u64)];
    }
    by different {
        changes_from_epoch_to_epoch: "independent of all others",
            "Shuffle 0..n anew for each pair, with `Philox::new(seed, epoch)`; epoch 0 is an epoch like any other." =>
            |d| vec![(d.whole(15, 19), d.whole(1, 99) as u64, 0)];
    }
    by once {
        takes_no_longer_for_a_late_epoch: "takes no longer",
            "Run through no earlier epochs, and do not compute with the epoch: pass it to `Philox::new` as it is." =>
            |d| [1 << 20, u64::MAX - d.whole(0, 99) as u64].map(|epoch| (17, 1_000, epoch)).into();
    }
    by equally {
        draws_every_order_equally_often: "Every order is equally likely",
            "From the last to the second, swap position i with any of the i + 1 up to itself, by one generator." =>
            |d| vec![(d.whole(1, 1_000_000) as u64, "epochs", 0)];
        has_unrelated_orders_in_succession: "independent of all others",
            "Neighbouring epochs or seeds share random numbers: shuffle anew, with `Philox::new(seed, epoch)`." =>
            |d| ["epochs", "seeds"].map(|each| (d.whole(1, 1_000_000) as u64, each, 1)).into();
    }
    by independent {
        has_independent_orders_for_seeds_and_epochs: "independent of all others",
            "Pass both to `Philox::new` as they are: other pairs have the same sum, product or lower bits." =>
            // Odd and even: so that each way of mixing the two shows at a pair of its own.
            |d| vec![(d.whole(15, 19), 2 * d.whole(1, 49) as u64 + 1, 2 * d.whole(1, 4) as u64)];
    }
    by mixed {
        mixes_the_whole_epoch: "Every order is equally likely",
            "Shuffle 0..n at once: blocks keep records near their numbers, and random keys that are equal ascend." =>
            |d| vec![(3_000, d.whole(1, 1_000_000) as u64, 2)];
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.1" epoch_order;
    1 "The epoch is not used: every epoch has the same order.";
    2 "The seed is not used: every run has the same orders.";
    3 "Seed and epoch are added, so that other pairs have the same sum: pass both to `Philox::new`.";
    4 "This is 0..n as it is: shuffle it.";
    5 "Each position draws from all n again, so that a record can come twice: start with 0..n and only swap.";
    6 "Each position is swapped with any of the n, which favours some orders: draw from those that are not final.";
    7 "A position never keeps its record: it may also be swapped with itself, so draw from i + 1 positions.";
    8 "The loop ends one swap too early: down to position 1, which is swapped with 0 or 1.";
    9 "Every swap draws from a new generator: create it once, before the loop.";
};
