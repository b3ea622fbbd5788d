//! 8.7: the cost of ring and tree.

use canopy::parallel::Cost;
use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson08, REFERENCE, answers};

const RING: &str = "ring";
const TREE: &str = "tree";

/// One of them, its ranks, the bytes, α and β.
type Input = (&'static str, usize, f64, f64, f64);

fn seconds(answer: &Lesson08, (way, p, bytes, alpha, beta): Input) -> Verdict {
    let of = |lesson: &Lesson08| match way {
        RING => (lesson.ring_seconds)(p, bytes, Cost { alpha, beta }),
        _ => (lesson.tree_seconds)(p, bytes, Cost { alpha, beta }),
    };
    let case = given(format!(
        "{way}, {p} ranks, {bytes} bytes, α = {alpha:e} s, β = {beta:e} s per byte"
    ));
    case.close("seconds", of(answer), of(&REFERENCE))
}

fn number(d: &mut Draw) -> f64 {
    d.whole(10, 99) as f64 * 1e-6
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.7";
    by seconds {
        counts_ring_messages: "a rank sends its messages",
            "A rank sends 2(p − 1) messages, as f64, of α + β·bytes/p seconds each, one after the other." => |d| vec![
                // 8 messages of 2,000 bytes; neither part is small against the other.
                (RING, 5, 1e4, 5e-6, 2e-9),
                (RING, 2, 0.0, 1e-5, 0.0),
                // More messages than 32 bits can count.
                (RING, 2_147_483_649, 0.0, 1e-6, 0.0),
                (RING, d.whole(3, 50), 0.0, number(d), 0.0),
                (RING, d.whole(1_000, 9_000), 0.0, number(d), 0.0),
            ];
        sends_one_chunk_per_message: "each with `bytes/p` bytes",
            "Each message has bytes/p bytes, not rounded, in f64; all ranks send at the same time." => |d| {
            let (p, beta) = (d.whole(3, 50), number(d));
            let bytes = (p * d.whole(10, 900)) as f64;
            vec![
                (RING, 4, 4e6, 0.0, 1e-9),
                // 12 messages of 142.86 bytes.
                (RING, 7, 1000.0, 0.0, 1e-9),
                (RING, p, bytes, 0.0, beta),
                (RING, p, bytes, 1e-5, beta),
                // A tree would be faster, and there are fewer bytes than ranks.
                (RING, 1000, 500.0, 5e-6, 2e-9),
            ]
        };
        counts_tree_steps: "one message of all `bytes`",
            "A tree takes log₂ p steps up and as many down, of α + β·bytes seconds each, one after the other." => |d| {
            let (alpha, beta, bytes) = (number(d), number(d), d.whole(100, 900) as f64);
            // 4 steps up and 4 down, of 10,000 bytes.
            let mut all = vec![(TREE, 16, 1e4, 5e-6, 2e-9)];
            all.extend([2, 4, 8, 64, 4096].map(|p| (TREE, p, bytes, alpha, beta)));
            all.push((TREE, 8, 1000.0, 0.0, 1e-6));
            all
        };
        rounds_up_to_a_power_of_two: "`⌈log₂ p⌉` steps up",
            "Round log₂ p up, exactly, then double it: f32 and ln p / ln 2 round it. Each step takes at least α." => |d| {
            let alpha = number(d);
            let some = [6, 5, 3, 7, 9, d.whole(17, 31), d.whole(1000, 1023), 1025];
            // Where a logarithm in f32 and one as ln p / ln 2 go wrong.
            let large = [(1 << 24) + 1, 1 << 29, (1 << 31) + 1];
            some.into_iter().chain(large).map(|p| (TREE, p, 0.0, alpha, 0.0)).collect()
        };
        is_free_for_one_rank: "a rank sends its messages", "One rank has nobody to send to: 0 seconds." => |d| {
            let (alpha, beta, bytes) = (number(d), number(d), d.number(1e3, 1e6).round());
            [RING, TREE].map(|way| (way, 1, bytes, alpha, beta)).into()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.7" [ring_seconds, tree_seconds];
    1 "These are half of the messages: the ring has two halves, one to add and one to pass on.";
    2 "The latency is counted only once; each message has its own.";
    3 "Every message has all of the bytes; in a ring it has the p-th part.";
    4 "Only the steps up are counted: the sum must come down again.";
    5 "Each message has the p-th part of the bytes; in a tree it has all of them.";
    6 "The steps are rounded down: 5 ranks need as many as 8.";
};
