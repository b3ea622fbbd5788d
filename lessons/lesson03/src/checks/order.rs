use std::{collections::HashMap, time::Instant};

use grader::{Verdict, draw, given};

use super::{chances, each_once, listed, told};
use crate::Lesson03;

type Pair = (u64, u64);

pub fn visits_each_record_once(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for (n, seed, epoch) in [
        (8, 1, 0),
        (
            draw.whole(12, 19),
            draw.whole(2, 99) as u64,
            draw.whole(0, 30) as u64,
        ),
    ] {
        let input = format!("epoch_order({n}, {seed}, {epoch})");
        given(input.clone());
        let order = (answer.epoch_order)(n, seed, epoch);
        each_once(&input, "order", &order, n, n)?;
    }
    Ok(())
}

pub fn depends_only_on_seed_and_epoch(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let (n, seed, epoch) = (
        draw.whole(15, 19),
        draw.whole(1, 99) as u64,
        draw.whole(1, 9) as u64,
    );
    let case = given(format!(
        "epoch_order({n}, {seed}, {epoch}), again after other calls, and once more on another thread"
    ));
    let order = answer.epoch_order;
    let first = order(n, seed, epoch);
    case.require(
        "order of the second call",
        order(n, seed, epoch) == first,
        "another order than the first time",
    )?;
    (0..3).for_each(|e| drop(order(n, seed, e)));
    drop((order(n - 3, seed, epoch), order(n, seed + 1, epoch)));
    case.require(
        "order of the second call",
        order(n, seed, epoch) == first,
        "another order than the first time",
    )?;
    // As after a restart: nothing that a thread keeps to itself is there.
    let resumed = std::thread::scope(|s| s.spawn(|| order(n, seed, epoch)).join());
    let same = resumed.is_ok_and(|order| order == first);
    case.require(
        "order on another thread",
        same,
        "another order than the first time",
    )
}

/// Whether the records follow each other as in 0..n, up or down, from any of them on.
fn in_a_row(order: &[usize]) -> bool {
    let n = order.len();
    let step = |by: usize| order.windows(2).all(|w| (w[0] + by) % n == w[1]);
    step(1) || step(n - 1)
}

pub fn changes_from_epoch_to_epoch(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let (n, seed) = (draw.whole(15, 19), draw.whole(1, 99) as u64);
    let input = format!(
        "epoch_order({n}, seed, epoch) for seeds {seed} to {} and epochs 0 to 3",
        seed + 3
    );
    given(input.clone());
    let all: Vec<Vec<Vec<usize>>> = (seed..seed + 4)
        .map(|s| (0..4).map(|e| (answer.epoch_order)(n, s, e)).collect())
        .collect();
    let alike = |a: &Vec<usize>, b: &Vec<usize>| a == b;
    let of_epochs = all.iter().all(|of| of.windows(2).all(|w| alike(&w[0], &w[1])));
    let of_seeds = |e: usize| all.windows(2).all(|w| alike(&w[0][e], &w[1][e]));
    let each = |test: fn(&[usize]) -> bool| all.iter().flatten().all(|o| test(o));
    let sorted = |o: &Vec<usize>| o.is_sorted();
    let (kind, said) = if each(|o| o.is_sorted()) {
        (1, "0, 1, 2, … for all of them".into())
    } else if each(in_a_row) {
        (2, "0..n rotated or reversed, for all of them".into())
    } else if of_epochs && (0..4).all(of_seeds) {
        (3, format!("always {}", listed(&all[0][0])))
    } else if of_epochs {
        (4, "the same order for all epochs".into())
    } else if (0..4).all(of_seeds) {
        (5, "the same order for all seeds".into())
    } else if all.iter().all(|of| sorted(&of[0])) {
        (6, "0, 1, 2, … for epoch 0".into())
    } else if of_seeds(0) {
        (7, "the same order for all seeds in epoch 0".into())
    } else if all.iter().flatten().any(sorted) {
        (8, "0, 1, 2, … for one of them".into())
    } else {
        return Ok(());
    };
    let lines = vec![
        "expected  other orders for other seeds and epochs".into(),
        format!("got       {said}"),
    ];
    told(input, "orders", &[kind], lines)
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

pub fn draws_every_order_equally_often(answer: &Lesson03) -> Verdict {
    const TIMES: usize = 24_000;
    let seed = draw().whole(1, 1_000_000) as u64;
    let input = format!("epoch_order(3, {seed}, epoch) for {TIMES} epochs");
    given(input.clone());
    let number = |seed: u64, epoch: u64| {
        let order = (answer.epoch_order)(3, seed, epoch);
        ORDERS.iter().position(|o| order[..] == o[..]).unwrap_or(0)
    };
    let series: Vec<usize> = (0..TIMES as u64).map(|epoch| number(seed, epoch)).collect();
    let mut counts = [0; 6];
    series.iter().for_each(|&at| counts[at] += 1);
    let expected = TIMES / 6;
    if chances(&counts, expected as f64).iter().any(|&c| c != 2) {
        // Finer than the test itself: which orders come too often is what known mistakes differ by.
        let off = expected / 15;
        let class = |&count: &usize| match count {
            0 => 0,
            _ if count + off < expected => 1,
            _ if count > expected + off => 3,
            _ => 2,
        };
        let classes: Vec<usize> = counts.iter().map(class).collect();
        let mut lines = vec![format!("expected  each order about {expected} times")];
        for (order, count) in ORDERS.iter().zip(counts) {
            lines.push(format!("got       {order:?} {count:>6} times"));
        }
        return told(input, "how often each order came", &classes, lines);
    }
    follows_by_chance(input, "epoch", &series)?;
    let times = TIMES / 4;
    let input = format!("epoch_order(3, seed, 1) for {times} seeds from {seed}");
    given(input.clone());
    let series: Vec<usize> = (0..times as u64).map(|more| number(seed + more, 1)).collect();
    follows_by_chance(input, "seed", &series)
}

/// Every order follows every other equally often.
fn follows_by_chance(input: String, of: &str, series: &[usize]) -> Verdict {
    let mut counts = vec![0; 36];
    series.windows(2).for_each(|w| counts[6 * w[0] + w[1]] += 1);
    let expected = series.len() as f64 / 36.0;
    let odd = counts
        .iter()
        .position(|&count: &usize| (count as f64 - expected).abs() > 6.5 * expected.sqrt());
    let Some(at) = odd else { return Ok(()) };
    let lines = vec![
        format!("expected  each order after each other about {expected:.0} times"),
        format!(
            "got       {:?} after {:?} {} times",
            ORDERS[at % 6],
            ORDERS[at / 6],
            counts[at]
        ),
    ];
    told(input, &format!("orders of one {of} and the next"), &[9], lines)
}

pub fn takes_no_longer_for_a_late_epoch(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let n = draw.whole(15, 19);
    let late = 1 << 16;
    let input = format!("epoch_order({n}, 1000, epoch) for epoch 0 and epoch {late}");
    given(input.clone());
    // The least of some times, because a right answer may be interrupted.
    let least = |epoch: u64| {
        let times = (0..4).map(|_| {
            let start = Instant::now();
            std::hint::black_box((answer.epoch_order)(n, 1000, epoch));
            start.elapsed()
        });
        times.min().unwrap_or_default()
    };
    let (first, last) = (least(0), least(late));
    if last > 60 * first {
        let lines = vec![
            "expected  about the same time for both".into(),
            format!("got       {first:.1?} and {last:.1?}"),
        ];
        return told(input, "time", &[1], lines);
    }
    for epoch in [1 << 20, u64::MAX - draw.whole(0, 99) as u64] {
        let input = format!("epoch_order({n}, 1000, {epoch})");
        given(input.clone());
        each_once(&input, "order", &(answer.epoch_order)(n, 1000, epoch), n, n)?;
    }
    Ok(())
}

/// Factors and shifts by which two numbers are often packed into one.
const FACTORS: [u64; 44] = [
    2,
    3,
    7,
    10,
    16,
    31,
    37,
    64,
    97,
    100,
    101,
    127,
    128,
    137,
    255,
    256,
    257,
    512,
    997,
    999,
    1_000,
    1_001,
    1_009,
    1_023,
    1_024,
    4_096,
    7_919,
    10_000,
    10_007,
    65_535,
    65_536,
    65_537,
    100_000,
    100_003,
    1_000_000,
    1_000_003,
    1_000_007,
    1 << 20,
    1 << 24,
    1_000_000_007,
    1 << 32,
    0x9E37_79B9,
    0x5851_F42D_4C95_7F2D,
    0x9E37_79B9_7F4A_7C15,
];

pub fn has_independent_orders_for_seeds_and_epochs(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // Odd and even: so that each way of mixing the two shows at a pair of its own.
    let (n, seed) = (draw.whole(15, 19), 2 * draw.whole(1, 49) as u64 + 1);
    let epoch = 2 * draw.whole(1, 4) as u64;
    let input = format!("epoch_order({n}, seed, epoch) for 150 pairs of seed and epoch");
    given(input.clone());
    let order = |(seed, epoch): Pair| (answer.epoch_order)(n, seed, epoch);
    let high = |bits: u32| 1u64 << bits;
    let of_factors = |pair: fn(u64) -> (Pair, Pair)| FACTORS.map(pair).to_vec();
    let ways: [(usize, Vec<(Pair, Pair)>); 6] = [
        (1, vec![((seed, epoch + 1), (seed + 1, epoch))]),
        (2, vec![((seed, 1), (seed ^ 1, 0))]),
        (
            3,
            vec![
                ((seed, epoch), (epoch, seed)),
                ((2 * seed, epoch), (seed, 2 * epoch)),
            ],
        ),
        (4, of_factors(|k| ((0, k), (1, 0)))),
        (4, of_factors(|k| ((k, 0), (0, 1)))),
        (
            5,
            [8, 16, 31, 32, 48, 63]
                .map(high)
                .iter()
                .flat_map(|h| [((seed + h, 3), (seed, 3)), ((seed, 3 + h), (seed, 3))])
                .collect(),
        ),
    ];
    let mut seen: HashMap<Vec<usize>, Pair> = HashMap::new();
    for (kind, pairs) in ways {
        for (a, b) in pairs {
            let (one, other) = (order(a), order(b));
            if one == other {
                return told(input, "orders of two pairs", &[kind], same_order(a, b));
            }
            for (order, pair) in [(one, a), (other, b)] {
                let before = *seen.entry(order).or_insert(pair);
                if before != pair && kind > 3 {
                    return told(input, "orders of two pairs", &[6], same_order(before, pair));
                }
            }
        }
    }
    Ok(())
}

fn same_order(a: Pair, b: Pair) -> Vec<String> {
    vec![
        "expected  two different orders".into(),
        "got       the same order for".into(),
        format!("          seed {}, epoch {}", a.0, a.1),
        format!("          seed {}, epoch {}", b.0, b.1),
    ]
}

pub fn mixes_the_whole_epoch(answer: &Lesson03) -> Verdict {
    const N: usize = 3_000;
    let seed = draw().whole(1, 1_000_000) as u64;
    let input = format!("epoch_order({N}, {seed}, 2)");
    given(input.clone());
    let order = (answer.epoch_order)(N, seed, 2);
    each_once(&input, "order", &order, N, N)?;
    // In a random order, a record is a third of the epoch from its number, every second one is less than the one after
    // it, and about one keeps its place. The limits are more than ten standard deviations away.
    let far = order
        .iter()
        .enumerate()
        .map(|(at, &r)| at.abs_diff(r))
        .sum::<usize>()
        / N;
    let rising = order.windows(2).filter(|w| w[0] < w[1]).count();
    let kept = order.iter().enumerate().filter(|&(at, &r)| at == r).count();
    let (kind, expected, got) = if far < N / 4 {
        (1, N / 3, format!("{far} places from its number on average"))
    } else if rising.abs_diff(N / 2) > N / 15 {
        (2, N / 2, format!("{rising} times a record less than the next"))
    } else if kept > 20 {
        (3, 1, format!("{kept} records at their own place"))
    } else {
        return Ok(());
    };
    let lines = vec![format!("expected  about {expected}"), format!("got       {got}")];
    told(input, "order", &[kind], lines)
}

pub fn accepts_zero_and_one_record(answer: &Lesson03) -> Verdict {
    for n in [0, 1] {
        let input = format!("epoch_order({n}, 3, 4)");
        given(input.clone());
        each_once(&input, "order", &(answer.epoch_order)(n, 3, 4), n, n)?;
    }
    Ok(())
}
