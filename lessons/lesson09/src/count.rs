//! 9.5: memory and traffic by stage.

use canopy::{precision::BytesPerParameter, shard::Stage};
use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers};

/// Parameters, ranks, stage; bytes of weight, master weight, gradient and optimizer state.
type Input = (u64, u64, Stage, [u32; 4]);

/// Mixed precision with Adam.
const MIXED: [u32; 4] = [2, 4, 2, 8];

/// Four different numbers of bytes, so that no two can be mistaken for each other.
fn bytes(d: &mut Draw) -> [u32; 4] {
    let first = d.whole(1, 4) as u32;
    [first, 10 * first + 1, 100 * first + 3, 1000 * first + 7]
}

/// Parameters that the ranks share evenly, and the ranks.
fn even(d: &mut Draw) -> (u64, u64) {
    let ranks = d.whole(3, 9) as u64;
    (ranks * d.whole(10, 99) as u64, ranks)
}

/// Each number of parameters and ranks at each of the stages.
fn at(stages: &[Stage], each: [u32; 4], counts: &[(u64, u64)]) -> Vec<Input> {
    let of = |&(n, ranks): &(u64, u64)| stages.iter().map(move |&stage| (n, ranks, stage, each));
    counts.iter().flat_map(of).collect()
}

fn kept(answer: &Lesson09, (n, ranks, stage, bytes): Input) -> Verdict {
    let [weight, master, gradient, optimizer] = bytes;
    let each = BytesPerParameter {
        weight,
        master,
        gradient,
        optimizer,
    };
    let of = |answer: &Lesson09| (answer.bytes_per_rank)(n, each, stage, ranks).to_vec();
    let case = given(format!("{n} parameters, ranks: {ranks}, {stage}, {each:?}"));
    case.close("weights, gradients, optimizer", &of(answer), &of(&REFERENCE))
}

fn sent(answer: &Lesson09, (n, ranks, stage, _): Input) -> Verdict {
    let of = |answer: &Lesson09| (answer.numbers_sent)(n, stage, ranks);
    let case = given(format!("{n} parameters, ranks: {ranks}, {stage}"));
    case.close("numbers that a rank sends", of(answer), of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.5";
    by kept {
        keeps_everything_without_sharding: "Without sharding",
            "Without sharding, or alone, a rank keeps all: weights and master weights, gradients, optimizer." => |d| {
            let (each, n) = (bytes(d), d.whole(10, 99) as u64);
            [at(&Stage::ALL[..1], each, &[(n, 1), (n, 2), (n, 7)]), at(&Stage::ALL, each, &[(n, 1)])].concat()
        };
        shares_more_with_each_stage: "Stage 1 shares the optimizer's state",
            "Master weights and optimizer are shared from stage 1 on, gradients from 2 on, weights at 3." =>
            |d| { let (each, count) = (bytes(d), even(d)); at(&Stage::ALL[1..], each, &[count]) };
        rounds_shares_up: "rounded up", "Divide `parameters` by `ranks`, round up, then multiply by the bytes." =>
            |d| at(&Stage::ALL[1..], bytes(d), &[(10, 4), (9, 2), (3, 8), (0, 4)]);
        // The last two have shares that f64 and f32 cannot hold exactly.
        counts_large_models: "10¹²", "32 bits and floats are too narrow for 10¹² parameters: compute in u64." => |_| {
            let odd = 1_000_000_000_001;
            let counts = [(7_500_000_000, 64), (1_000_000_000_000, 1024), (odd, 1), (odd, 3)];
            at(&Stage::ALL, MIXED, &counts)
        };
    }
    by sent {
        counts_two_passes: "have one of each",
            "Up to stage 2: two passes, in each of which a rank sends (`ranks` − 1) chunks. Count its numbers." =>
            |d| at(&Stage::ALL[..3], MIXED, &[(12, 3), even(d)]);
        gathers_once_more_in_stage_3: "gathers once more", "Stage 3: two all-gathers, a reduce-scatter." =>
            |d| at(&Stage::ALL[3..], MIXED, &[(12, 3), even(d)]);
        // The last one has more than 32 bits.
        rounds_chunks_up: "rounded up", "Divide by `ranks` and round up first; then multiply, in u64." =>
            |_| at(&Stage::ALL[2..], MIXED, &[(3, 8), (10, 4), (9, 2), (0, 4), (1_000_000_000_000, 1000)]);
        is_free_for_one_rank: "One rank alone sends nothing", "One rank alone has nobody to send to." =>
            |d| at(&Stage::ALL, MIXED, &[(d.whole(10, 99) as u64, 1)]);
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.5" [bytes_per_rank, numbers_sent];
    1 "Share the master weights from stage 1 on: only the optimizer reads them.";
    2 "Share the gradients from stage 2 on. Here they are shared from stage 1 on.";
    3 "Each stage shares one thing only; a stage also shares what the stages before it share.";
    4 "The master weights count as weights, not as optimizer state.";
    5 "A share is rounded down: the ranks together must have all parameters.";
    6 "This is one pass of the ring: gradients are reduced and parameters (or sums) are gathered.";
    7 "Stage 2 also gathers the new parameters after the step: it sends as much as an all-reduce.";
    8 "Stage 1 is counted with the all-reduce of 9.2; as it is published, it needs a reduce-scatter only.";
    9 "Stage 3 sends as much as the others; it gathers twice, for the forward and the backward pass.";
    10 "Stage 3 does not gather after the step, because the parameters stay sharded: three passes, not four.";
    11 "Round n/p up before you multiply: the ring sends whole chunks. Here the product is divided.";
};
