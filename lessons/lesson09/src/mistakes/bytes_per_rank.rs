//! Known wrong answers to exercise 9.5.

use canopy::precision::BytesPerParameter;

use super::*;

/// From which stage on each is shared, and how a share is computed.
fn kept(
    n: u64,
    each: BytesPerParameter,
    stage: Stage,
    [weight, master, gradient, optimizer]: [u8; 4],
    share: u64,
) -> [u64; 3] {
    let of = |from: u8, bytes: u32| if stage as u8 >= from { share } else { n } * u64::from(bytes);
    [
        of(weight, each.weight) + of(master, each.master),
        of(gradient, each.gradient),
        of(optimizer, each.optimizer),
    ]
}

fn passes(stage: Stage) -> u64 {
    if stage == Stage::Zero3 { 3 } else { 2 }
}

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.5", shares_more_with_each_stage, "Share the master weights from stage 1 on: only the optimizer reads them. Here they are shared at stage 3 only.",
        bytes_per_rank: |n, each, stage, p| kept(n, each, stage, [3, 3, 2, 1], n.div_ceil(p))),
    wrong!("9.5", shares_more_with_each_stage, "Share the gradients from stage 2 on. Here they are shared from stage 1 on.",
        bytes_per_rank: |n, each, stage, p| kept(n, each, stage, [3, 1, 1, 1], n.div_ceil(p))),
    wrong!("9.5", shares_more_with_each_stage, "Share the weights at stage 3 only. Here they are shared from stage 2 on.",
        bytes_per_rank: |n, each, stage, p| kept(n, each, stage, [2, 1, 2, 1], n.div_ceil(p))),
    wrong!("9.5", shares_more_with_each_stage, "Each stage shares one thing only; a stage also shares what the stages before it share.",
    bytes_per_rank: |n, each, stage, p| {
        let share = n.div_ceil(p);
        let of = |only: Stage, bytes: u32| if stage == only { share } else { n } * u64::from(bytes);
        [
            of(Stage::Zero3, each.weight) + of(Stage::Zero1, each.master),
            of(Stage::Zero2, each.gradient),
            of(Stage::Zero1, each.optimizer),
        ]
    }),
    wrong!("9.5", keeps_everything_without_sharding, "Without sharding every rank keeps everything; here the ranks share it.",
    bytes_per_rank: |n, each, stage, p| match stage {
        Stage::Zero0 => kept(n, each, Stage::Zero3, [0; 4], n.div_ceil(p)),
        _ => (REFERENCE.bytes_per_rank)(n, each, stage, p),
    }),
    wrong!("9.5", keeps_everything_without_sharding, "The master weights count as weights, not as optimizer state.",
    bytes_per_rank: |n, each, stage, p| {
        let moved = BytesPerParameter { master: 0, optimizer: each.optimizer + each.master, ..each };
        (REFERENCE.bytes_per_rank)(n, moved, stage, p)
    }),
    wrong!("9.5", keeps_everything_without_sharding, "The master weights are missing.",
        bytes_per_rank: |n, each, stage, p| (REFERENCE.bytes_per_rank)(n, BytesPerParameter { master: 0, ..each }, stage, p)),
    wrong!("9.5", rounds_shares_up, "A share is rounded down: the ranks together must have all parameters.",
        bytes_per_rank: |n, each, stage, p| kept(n, each, stage, [3, 1, 2, 1], n / p)),
    wrong!("9.5", rounds_shares_up, "The bytes are divided and rounded up; a rank's share is a whole number of parameters.",
    bytes_per_rank: |n, each, stage, p| {
        let of = |from: u8, bytes: u32| {
            let all = n * u64::from(bytes);
            if stage as u8 >= from { all.div_ceil(p) } else { all }
        };
        [of(3, each.weight) + of(1, each.master), of(2, each.gradient), of(1, each.optimizer)]
    }),
    wrong!("9.5", counts_large_models, "The bytes overflow 32 bits: compute in u64.",
        bytes_per_rank: |n, each, stage, p| (REFERENCE.bytes_per_rank)(n, each, stage, p).map(|b| u64::from(b as u32))),
    wrong!("9.5", counts_large_models, "The number of parameters is cut to 32 bits: convert `each` to u64, not `parameters` to u32.",
        bytes_per_rank: |n, each, stage, p| (REFERENCE.bytes_per_rank)(u64::from(n as u32), each, stage, p)),
    wrong!("9.5", counts_large_models, "The share is computed in 32 bits: compute in u64.",
        bytes_per_rank: |n, each, stage, p| kept(n, each, stage, [3, 1, 2, 1], u64::from(n as u32).div_ceil(p))),
    wrong!("9.5", counts_large_models, "The numbers are rounded to f32: compute with whole numbers.",
        bytes_per_rank: |n, each, stage, p| (REFERENCE.bytes_per_rank)(n, each, stage, p).map(|b| b as f32 as u64)),
    wrong!("9.5", counts_two_passes, "This is one pass of the ring: gradients are reduced and parameters (or sums) are gathered.",
        numbers_sent: |n, stage, p| (passes(stage) - 1) * n.div_ceil(p) * (p - 1)),
    wrong!("9.5", counts_two_passes, "Stage 2 also gathers the new parameters after the step: it sends as much as an all-reduce.",
        numbers_sent: |n, stage, p| if stage == Stage::Zero2 { 1 } else { passes(stage) } * n.div_ceil(p) * (p - 1)),
    wrong!("9.5", counts_two_passes, "Stage 1 is counted with the all-reduce of 9.2; as it is published, it needs a reduce-scatter only.",
        numbers_sent: |n, stage, p| if stage == Stage::Zero1 { 3 } else { passes(stage) } * n.div_ceil(p) * (p - 1)),
    wrong!("9.5", counts_two_passes, "In each pass a rank sends p − 1 chunks, not p.",
        numbers_sent: |n, stage, p| if p == 1 { 0 } else { passes(stage) * n.div_ceil(p) * p }),
    wrong!("9.5", counts_two_passes, "These are the numbers of all ranks together; each sends the p-th part.",
        numbers_sent: |n, stage, p| p * (REFERENCE.numbers_sent)(n, stage, p)),
    wrong!("9.5", counts_two_passes, "These are bytes; the result counts numbers.",
        numbers_sent: |n, stage, p| 4 * (REFERENCE.numbers_sent)(n, stage, p)),
    wrong!("9.5", gathers_once_more_in_stage_3, "Stage 3 sends as much as the others; it gathers the parameters twice, for the forward and the backward pass.",
        numbers_sent: |n, _, p| 2 * n.div_ceil(p) * (p - 1)),
    wrong!("9.5", gathers_once_more_in_stage_3, "Stage 3 has three passes: two gathers and a reduce-scatter. A gather after the step is not needed, because the parameters stay sharded.",
        numbers_sent: |n, stage, p| if stage == Stage::Zero3 { 4 } else { 2 } * n.div_ceil(p) * (p - 1)),
    wrong!("9.5", rounds_chunks_up, "Round n/p up before you multiply: the ring sends whole chunks. Here the product is divided and rounded down.",
        numbers_sent: |n, stage, p| passes(stage) * n * (p - 1) / p),
    wrong!("9.5", is_free_for_one_rank, "One rank alone has nobody to send to.",
        numbers_sent: |n, stage, p| passes(stage) * n.div_ceil(p) * (p.max(2) - 1)),
    wrong!("9.5", rounds_chunks_up, "Round n/p up before you multiply: the ring sends whole chunks. Here the product is divided and rounded up.",
        numbers_sent: |n, stage, p| (passes(stage) * n * (p - 1)).div_ceil(p)),
    wrong!("9.5", rounds_chunks_up, "A chunk is rounded down; it is n/p, rounded up.",
        numbers_sent: |n, stage, p| passes(stage) * (n / p) * (p - 1)),
    wrong!("9.5", keeps_everything_without_sharding, "The order is weights, gradients, optimizer; here the optimizer's bytes come before the gradients'.",
    bytes_per_rank: |n, each, stage, p| {
        let [weights, gradients, optimizer] = (REFERENCE.bytes_per_rank)(n, each, stage, p);
        [weights, optimizer, gradients]
    }),
];
