use canopy::parallel::Cost;
use grader::{Draw, Verdict, draw, given};

use crate::Lesson08;

type Seconds = fn(usize, f64, Cost) -> f64;

fn check(seconds: Seconds, p: usize, bytes: f64, cost: Cost, expected: f64) -> Verdict {
    let Cost { alpha, beta } = cost;
    let case = given(format!(
        "{p} ranks, {bytes} bytes, α = {alpha:e} s, β = {beta:e} s per byte"
    ));
    case.close("seconds", seconds(p, bytes, cost), expected)
}

/// A cost with latency only.
fn begin(alpha: f64) -> Cost {
    Cost { alpha, beta: 0.0 }
}

/// A cost with bandwidth only.
fn carry(beta: f64) -> Cost {
    Cost { alpha: 0.0, beta }
}

fn number(draw: &mut Draw) -> f64 {
    draw.whole(10, 99) as f64 * 1e-6
}

/// A cost with both, of which neither is small against the other.
const BOTH: Cost = Cost {
    alpha: 5e-6,
    beta: 2e-9,
};

pub fn counts_ring_messages(answer: &Lesson08) -> Verdict {
    // 8 messages of 2,000 bytes.
    check(answer.ring_seconds, 5, 1e4, BOTH, 8.0 * 9e-6)?;
    let mut draw = draw();
    check(answer.ring_seconds, 2, 0.0, begin(1e-5), 2e-5)?;
    // More messages than 32 bits can count.
    check(
        answer.ring_seconds,
        2_147_483_649,
        0.0,
        begin(1e-6),
        4_294.967_296,
    )?;
    for p in [draw.whole(3, 50), draw.whole(1_000, 9_000)] {
        let alpha = number(&mut draw);
        let mut expected = 0.0;
        // Two halves of p − 1 steps.
        for _half in 0..2 {
            for _step in 1..p {
                expected += alpha;
            }
        }
        check(answer.ring_seconds, p, 0.0, begin(alpha), expected)?;
    }
    Ok(())
}

pub fn sends_one_chunk_per_message(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    check(answer.ring_seconds, 4, 4e6, carry(1e-9), 6e-3)?;
    // 12 messages of 142.86 bytes.
    check(answer.ring_seconds, 7, 1000.0, carry(1e-9), 12e-6 / 7.0)?;
    let (p, beta, part) = (draw.whole(3, 50), number(&mut draw), draw.whole(10, 900) as f64);
    let mut sent = 0.0;
    for _message in 0..2 * (p - 1) {
        sent += part;
    }
    check(answer.ring_seconds, p, part * p as f64, carry(beta), sent * beta)?;
    let cost = Cost { alpha: 1e-5, beta };
    check(
        answer.ring_seconds,
        p,
        part * p as f64,
        cost,
        sent * beta + 2.0 * (p - 1) as f64 * 1e-5,
    )?;
    // A tree would be faster, and fewer bytes than ranks.
    check(answer.ring_seconds, 1000, 500.0, BOTH, 1998.0 * 5.001e-6)
}

/// Steps up and down, counted by halving.
fn steps(p: usize) -> f64 {
    let (mut left, mut steps) = (p, 0);
    while left > 1 {
        left = left.div_ceil(2);
        steps += 1;
    }
    2.0 * f64::from(steps)
}

pub fn counts_tree_steps(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    // 4 steps up and 4 down, of 10,000 bytes.
    check(answer.tree_seconds, 16, 1e4, BOTH, 8.0 * 25e-6)?;
    let (alpha, beta) = (number(&mut draw), number(&mut draw));
    let bytes = draw.whole(100, 900) as f64;
    for p in [2, 4, 8, 64, 4096] {
        let each = alpha + bytes * beta;
        check(
            answer.tree_seconds,
            p,
            bytes,
            Cost { alpha, beta },
            steps(p) * each,
        )?;
    }
    check(answer.tree_seconds, 8, 1000.0, carry(1e-6), 6e-3)
}

pub fn rounds_up_to_a_power_of_two(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let alpha = number(&mut draw);
    let some = [6, 5, 3, 7, 9, draw.whole(17, 31), draw.whole(1000, 1023)];
    // The last are where a logarithm in f64, ln p / ln 2, and one in f32 go wrong.
    for p in some
        .into_iter()
        .chain([1025, (1 << 24) + 1, 1 << 29, (1 << 31) + 1])
    {
        check(answer.tree_seconds, p, 0.0, begin(alpha), steps(p) * alpha)?;
    }
    Ok(())
}

pub fn is_free_for_one_rank(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let cost = Cost {
        alpha: number(&mut draw),
        beta: number(&mut draw),
    };
    let bytes = draw.number(1e3, 1e6).round();
    let Cost { alpha, beta } = cost;
    let case = given(format!(
        "1 rank, {bytes} bytes, α = {alpha:e} s, β = {beta:e} s per byte"
    ));
    case.close("seconds of a ring", (answer.ring_seconds)(1, bytes, cost), 0.0)?;
    case.close("seconds of a tree", (answer.tree_seconds)(1, bytes, cost), 0.0)
}
