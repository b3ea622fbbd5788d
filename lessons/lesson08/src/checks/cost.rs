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

pub fn counts_ring_messages(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    check(answer.ring_seconds, 2, 0.0, begin(1e-5), 2e-5)?;
    let (p, alpha) = (draw.whole(3, 50), number(&mut draw));
    let mut expected = 0.0;
    // Two halves of p − 1 steps.
    for _half in 0..2 {
        for _step in 1..p {
            expected += alpha;
        }
    }
    check(answer.ring_seconds, p, 0.0, begin(alpha), expected)
}

pub fn sends_one_chunk_per_message(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    check(answer.ring_seconds, 4, 4e6, carry(1e-9), 6e-3)?;
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
    )
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
    let (alpha, beta) = (number(&mut draw), number(&mut draw));
    let bytes = draw.whole(100, 900) as f64;
    for p in [2, 8, 64, 4096] {
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
    for p in [3, 5, 9, draw.whole(17, 31), draw.whole(1000, 1023)] {
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
