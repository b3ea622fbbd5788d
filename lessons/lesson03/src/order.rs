//! 3.1: the order of an epoch.

use std::collections::BTreeMap;

use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson03, REFERENCE, answers};

/// Seed and epoch.
type Pair = (u64, u64);

fn ordered(answer: &Lesson03, (n, (seed, epoch)): (usize, Pair)) -> Verdict {
    let case = given(format!("epoch_order({n}, {seed}, {epoch})"));
    let order = || (answer.epoch_order)(n, seed, epoch);
    let first = order();
    let mut sorted = first.clone();
    sorted.sort_unstable();
    drop((answer.epoch_order)(n / 2, seed + 1, epoch));
    // As after a restart: nothing that a thread keeps to itself is there.
    let again = std::thread::scope(|s| s.spawn(order).join()).unwrap_or_default();
    // In a random order, a record is a third of the epoch from its number, and every second one is less than the next. The
    // limits are more than ten standard deviations away.
    let far = first
        .iter()
        .enumerate()
        .map(|(at, &r)| at.abs_diff(r))
        .sum::<usize>();
    let rising = first.windows(2).filter(|w| w[0] < w[1]).count();
    let is_mixed = n < 1_000 || far > n * n / 4 && rising.abs_diff(n / 2) < n / 15;
    let facts = |sorted: Vec<usize>, is_same: bool, is_mixed: bool| {
        Facts::default()
            .values("the order, sorted", &sorted)
            .text("whether it is the same after other calls, on another thread", is_same.to_string())
            .cause("Create the generator in each call, from seed and epoch; nothing else, such as a hash map, may decide.")
            .text("whether records are far from their numbers, and half are less than the next", is_mixed.to_string())
    };
    case.same(
        facts(sorted, again == first, is_mixed),
        facts(Vec::from_iter(0..n), true, true),
    )
}

/// The results that come too often (+) or too seldom (-). What a right answer does by chance is called wrong less than once in
/// a million cases.
pub fn unequal<T: Ord + std::fmt::Debug>(results: impl Iterator<Item = T>, expected: usize) -> Vec<String> {
    let mut counts = BTreeMap::new();
    results.for_each(|result| *counts.entry(result).or_insert(0usize) += 1);
    let off = (5.5 * (expected as f64).sqrt()) as usize;
    counts.retain(|_, count| count.abs_diff(expected) > off);
    let sign = |(result, count)| format!("{result:?}{}", if count > expected { "+" } else { "-" });
    counts.into_iter().map(sign).collect()
}

/// The orders of three records, and of each with the next, for 24000 epochs or, in epoch 1, as many seeds.
fn equally(answer: &Lesson03, (seed, each): (u64, &str)) -> Verdict {
    let case = given(format!("epoch_order(3, ..) for 24000 {each}, seed {seed}"));
    let facts = |of: &Lesson03| {
        let pair = |i| if each == "seeds" { (seed + i, 1) } else { (seed, i) };
        let order = |i| (of.epoch_order)(3, pair(i).0, pair(i).1);
        let orders: Vec<Vec<usize>> = (0..24_000).map(order).collect();
        Facts::default()
            .items("orders that come too often or too seldom", unequal(orders.iter(), 4_000))
            .items("such pairs of successive orders", unequal(orders.windows(2), 4_000 / 6))
            .cause("Neighbouring epochs or seeds share random numbers: shuffle anew, with `Philox::new(seed, epoch)`.")
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// Pairs that are often mapped to the same number: sum, exclusive or, product, packed with a factor, cut to fewer bits.
fn pairs(seed: u64, epoch: u64) -> Vec<Pair> {
    let round = (1..64).map(|k| 1 << k).chain((1..19).map(|k| 10u64.pow(k)));
    let round = round.flat_map(|factor| [factor - 1, factor, factor + 1]);
    let odd = [37, 97, 137, 1_009, 7_919, 10_007, 100_003, 1_000_003, 1_000_007];
    let mixers = [
        1_000_000_007,
        0x9E37_79B9,
        0x5851_F42D_4C95_7F2D,
        0x9E37_79B9_7F4A_7C15,
    ];
    let mut all = vec![(seed, epoch + 1), (seed + 1, epoch), (seed, 1), (seed ^ 1, 0)];
    all.extend([(seed, epoch), (epoch, seed), (2 * seed, epoch), (seed, 2 * epoch)]);
    all.extend(round.chain(odd).chain(mixers).flat_map(|k| [(0, k), (k, 0)]));
    all.extend([(0, 1), (1, 0), (seed, 3)]);
    all
}

/// Pairs that differ have different orders of `n` records.
fn independent(answer: &Lesson03, (n, pairs): (usize, Vec<Pair>)) -> Verdict {
    let (count, first) = (pairs.len(), &pairs[..4]);
    let case = given(format!(
        "epoch_order({n}, ..) for {count} pairs of seed and epoch, {first:?}, .."
    ));
    let (mut seen, mut same) = (BTreeMap::new(), Vec::new());
    for pair in pairs {
        let order = (answer.epoch_order)(n, pair.0, pair.1);
        let before = *seen.entry(order).or_insert(pair);
        same.extend((before != pair).then_some([before, pair]));
    }
    let facts = |same: Vec<[Pair; 2]>| Facts::default().items("two pairs with the same order", same);
    case.same(facts(same), facts(Vec::new()))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.1";
    by ordered {
        visits_each_record_once: "each once",
            "Start with a list of 0..n, which may be empty, and only swap: no record is twice there, or missing." => |d| {
            let pair = (d.whole(2, 99) as u64, d.whole(0, 30) as u64);
            vec![(8, (1, 0)), (d.whole(12, 19), pair), (0, pair), (1, pair)]
        };
    }
    by independent {
        changes_from_epoch_to_epoch: "independent of the orders",
            "Two pairs have the same order: shuffle all of 0..n for each, also in epoch 0, with both as they are: `Philox::new(seed, epoch)`." => |d| {
            let seed = d.whole(1, 99) as u64;
            let pairs = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (2, 1)];
            vec![(d.whole(15, 19), pairs.map(|(more, epoch)| (seed + more, epoch)).into())]
        };
    }
    by ordered {
        takes_no_longer_for_a_late_epoch: "as a function of the arguments",
            "Run through no earlier epochs, and do not compute with the epoch: pass it to `Philox::new` as it is." =>
            |d| [1 << 20, u64::MAX - d.whole(0, 99) as u64].map(|epoch| (17, (1_000, epoch))).into();
    }
    by equally {
        draws_every_order_equally_often: "Every order is equally likely",
            "From the last to the second, swap position i with any of the i + 1 up to itself, by one generator. Keys to sort by need 64 bits." =>
            |d| ["epochs", "seeds"].map(|each| (d.whole(1, 1_000_000) as u64, each)).into();
    }
    by independent {
        has_independent_orders_for_seeds_and_epochs: "independent of the orders",
            "Pass both to `Philox::new` as they are: other pairs have the same sum, product or lower bits." =>
            // Odd and even: so that each way of mixing the two shows at a pair of its own.
            |d| vec![(d.whole(15, 19), pairs(2 * d.whole(1, 49) as u64 + 1, 2 * d.whole(1, 4) as u64))];
    }
    by ordered {
        mixes_the_whole_epoch: "Every order is equally likely",
            "Shuffle 0..n at once: blocks keep records near their numbers, and random keys that are equal ascend." =>
            |d| vec![(3_000, (d.whole(1, 1_000_000) as u64, 2))];
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.1" epoch_order;
    1 "The epoch is not used: every epoch has the same order.";
    2 "Seed and epoch are added, so that other pairs have the same sum: pass both to `Philox::new`.";
    3 "Each position is swapped with any of the n, which favours some orders: draw from those that are not final.";
};
