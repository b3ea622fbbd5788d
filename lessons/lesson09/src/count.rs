//! 9.5: memory and traffic by stage.

use canopy::{precision::BytesPerParameter, shard::Stage};
use grader::{Check, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers};

/// Parameters, ranks, stage.
type Input = (u64, u64, Stage);

/// Four different numbers, so that no two can be mistaken for each other.
const EACH: BytesPerParameter = BytesPerParameter {
    weight: 3,
    master: 31,
    gradient: 307,
    optimizer: 3011,
};

/// Each number of parameters and ranks at each of the stages.
fn at(stages: &[Stage], counts: &[(u64, u64)]) -> Vec<Input> {
    let of = |&(n, ranks): &(u64, u64)| stages.iter().map(move |&stage| (n, ranks, stage));
    counts.iter().flat_map(of).collect()
}

fn kept(answer: &Lesson09, (n, ranks, stage): Input) -> Verdict {
    let of = |answer: &Lesson09| (answer.bytes_per_rank)(n, EACH, stage, ranks).to_vec();
    let case = given(format!("{n} parameters, ranks: {ranks}, {stage}, {EACH:?}"));
    case.close("weights, gradients, optimizer", &of(answer), &of(&REFERENCE))
}

fn sent(answer: &Lesson09, (n, ranks, stage): Input) -> Verdict {
    let of = |answer: &Lesson09| (answer.numbers_sent)(n, stage, ranks);
    let case = given(format!("{n} parameters, ranks: {ranks}, {stage}"));
    case.close("numbers that a rank sends", of(answer), of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.5";
    by kept {
        keeps_everything_without_sharding: "The bytes that a rank keeps",
            "Without sharding, or alone, a rank keeps all: weights and master weights, gradients, optimizer." => |d| {
            let n = d.whole(10, 99) as u64;
            [at(&Stage::ALL[..1], &[(n, 1), (n, 2), (n, 7)]), at(&Stage::ALL, &[(n, 1)])].concat()
        };
        shares_more_with_each_stage: "Stage 1 shards optimizer state",
            "Master weights and optimizer are shared from stage 1 on, gradients from 2 on, weights at 3." =>
            |d| at(&Stage::ALL[1..], &[(7 * d.whole(10, 99) as u64, 7)]);
        rounds_shares_up: "rounded up", "Divide `parameters` by `ranks`, round up, then multiply by the bytes." =>
            |_| at(&Stage::ALL[1..], &[(10, 4), (9, 2), (3, 8), (0, 4)]);
        // The last two have shares that f64 and f32 cannot hold exactly.
        counts_large_models: "`parameters/ranks`", "32 bits and floats are too narrow for 10¹² parameters: compute in u64." => |_| {
            let odd = 1_000_000_000_001;
            at(&Stage::ALL, &[(7_500_000_000, 64), (1_000_000_000_000, 1024), (odd, 1), (odd, 3)])
        };
    }
    by sent {
        counts_two_passes: "a reduce-scatter and an all-gather",
            "Up to stage 2: two passes, in each of which a rank sends (`ranks` − 1) chunks. Count its numbers." =>
            |d| at(&Stage::ALL[..3], &[(12, 3), (7 * d.whole(10, 99) as u64, 7)]);
        gathers_once_more_in_stage_3: "at stage 3 one more", "Stage 3: two all-gathers, a reduce-scatter." =>
            |d| at(&Stage::ALL[3..], &[(12, 3), (7 * d.whole(10, 99) as u64, 7)]);
        // The last one has more than 32 bits.
        rounds_chunks_up: "rounded up", "Divide by `ranks` and round up first; then multiply, in u64." =>
            |_| at(&Stage::ALL[2..], &[(3, 8), (10, 4), (9, 2), (0, 4), (1_000_000_000_000, 1000)]);
        is_free_for_one_rank: "`ranks − 1` chunks", "One rank alone has nobody to send to." =>
            |d| at(&Stage::ALL, &[(d.whole(10, 99) as u64, 1)]);
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.5" [bytes_per_rank, numbers_sent];
    1 "Share the master weights from stage 1 on: only the optimizer reads them.";
    2 "Share the gradients from stage 2 on. Here they are shared from stage 1 on.";
    3 "Each stage shares one thing only; a stage also shares what the stages before it share.";
    4 "The master weights count as weights, not as optimizer state.";
    5 "Stage 2 also gathers the new parameters after the step: it sends as much as an all-reduce.";
    6 "Stage 1 is counted with the all-reduce of 9.2; as it is published, it needs a reduce-scatter only.";
    7 "Stage 3 sends as much as the others; it gathers twice, for the forward and the backward pass.";
};
