//! 10.6: the planner.

use canopy::{
    precision::{BF16, bytes_per_parameter},
    shard::Stage::{self, Zero0, Zero1, Zero2, Zero3},
    split::{Choice, Machine, Work},
};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson10, REFERENCE, answers};

type Input = (Work, Machine);

/// A thousand parameters, 16 bytes each, and activations of 100 bytes a sample: small numbers, so that a case can be followed
/// by hand.
fn work() -> Work {
    Work {
        parameters: 1000,
        each: bytes_per_parameter(BF16, 2),
        activations: 100,
        layers: 12,
        batch: 48,
    }
}

/// Activations of one sample that do not fit beside the model, so that ZeRO does not help.
fn heavy() -> Work {
    Work {
        activations: 30_000,
        ..work()
    }
}

/// Links between nodes are slower than those inside.
fn machine(nodes: u64, ranks_per_node: u64, memory: u64) -> Machine {
    Machine {
        nodes,
        ranks_per_node,
        memory,
        inside: 300e9,
        between: 25e9,
    }
}

/// What a candidate keeps with micro-batches of one sample.
fn least(work: &Work, (nodes, ranks): (u64, u64), (tensor, pipeline, stage): (u64, u64, Stage)) -> u64 {
    let parts = tensor * pipeline;
    let data = nodes * ranks / parts;
    let model = canopy::shard::bytes_per_rank(work.parameters.div_ceil(parts), work.each, stage, data);
    let held = pipeline.min(work.batch.div_ceil(data));
    model.iter().sum::<u64>() + held * work.activations.div_ceil(parts)
}

/// A machine with the memory that a candidate needs, so that it is the first to fit if those before it need more.
fn nth(work: Work, size: (u64, u64), which: (u64, u64, Stage)) -> Input {
    let memory = least(&work, size, which) + 7;
    (work, machine(size.0, size.1, memory))
}

fn chosen(answer: &Lesson10, (work, machine): Input) -> Verdict {
    let case = given(format!(
        "{} parameters of {} bytes, {} bytes of activations, {} layers, batch {}; nodes × ranks {} × {}, {} bytes a rank, {} GB/s \
         inside, {} GB/s between",
        work.parameters,
        work.each.total(),
        work.activations,
        work.layers,
        work.batch,
        machine.nodes,
        machine.ranks_per_node,
        machine.memory,
        machine.inside / 1e9,
        machine.between / 1e9
    ));
    case.same(
        facts((answer.choose)(&work, &machine)),
        facts((REFERENCE.choose)(&work, &machine)),
    )
}

/// First which candidate it is, then what it keeps.
fn facts(c: Choice) -> Facts {
    let candidate = format!("tensor {}, pipeline {}, {:?}", c.tensor, c.pipeline, c.stage);
    Facts::default()
        .text("candidate", candidate)
        .values("data", c.data)
        .cause("`data` is the number of all ranks divided by `tensor` · `pipeline`.")
        .values("micro_batch", c.micro_batch)
        .cause("Without a pipeline: as many samples as fit beside the model, at least 1, at most the share. With one: 1.")
        .values("micro_batches", c.micro_batches)
        .cause("The share is `batch` / `data`, and `micro_batches` is the share / `micro_batch`, both rounded up.")
        .values("bytes", c.bytes)
        .cause(
            "The three numbers of `bytes_per_rank` for parameters / parts, and activations / parts of each sample kept: both \
             quotients rounded up.",
        )
        .text("fits", c.fits.to_string())
        .cause("`fits` is whether `bytes` is at most the memory of a rank.")
}

/// Nodes and the speeds of the links, with the memory that ZeRO 3 needs.
fn links(nodes: u64, inside: f64, between: f64) -> Input {
    let (work, machine) = nth(work(), (nodes, 4), (1, 1, Zero3));
    (
        work,
        Machine {
            inside,
            between,
            ..machine
        },
    )
}

/// Numbers that no division meets exactly.
fn odd(d: &mut Draw) -> Work {
    Work {
        parameters: 1001 + 12 * d.whole(0, 40) as u64,
        activations: 10_001 + 12 * d.whole(0, 40) as u64,
        batch: 49,
        ..work()
    }
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.6";
    by chosen {
        prefers_data_parallelism: "Data parallelism", "The first candidate is data parallelism with `Zero0`; return the first that fits." => |d| {
            let sizes = [(1, 4), (2, 3), (d.whole(2, 5) as u64, 2)];
            let mut all = vec![(work(), machine(1, 1, 1_000_000))];
            for size in sizes {
                all.extend([(work(), machine(size.0, size.1, 1_000_000)), nth(work(), size, (1, 1, Zero0))]);
            }
            all
        };
        chooses_the_largest_micro_batch: "the largest that fits",
            "Without a pipeline, as many samples as fit beside the model, at least 1 and at most the share of the batch." => |d| {
            let samples = [1, 5, 7, 11, 12, 13, d.whole(2, 10) as u64];
            let bytes = samples.map(|n| 16_000 + 100 * n + d.whole(0, 99) as u64);
            bytes.iter().flat_map(|&b| [(work(), machine(1, 4, b)), (work(), machine(1, 1, b))]).collect()
        };
        shares_states_next: "then with `Zero2`", "Next come `Zero1` and `Zero2`; a rank keeps the sum of the three numbers of `bytes_per_rank`." =>
            |_| [(1, 4), (2, 4), (3, 2)].iter().flat_map(|&size| [Zero1, Zero2].map(|s| nth(work(), size, (1, 1, s)))).collect();
        splits_layers_inside_a_node: "each divisor of `ranks_per_node`",
            "Another candidate is the first that fits: compare the list (each divisor of `ranks_per_node` above 1) and what each keeps." => |_| {
            // The divisors of 12 and 6 are not all powers of two; 5 and 7 are no divisors. Last: less than a whole node needs.
            let all = [2, 3, 4, 6, 12, 5, 7].map(|t| nth(heavy(), (2, 12), (t, 1, Zero0)));
            let more = [2, 3, 6].map(|t| nth(heavy(), (4, 6), (t, 1, Zero0)));
            all.into_iter().chain(more).chain([nth(heavy(), (2, 12), (12, 2, Zero0))]).collect()
        };
        makes_nodes_the_stages: "each divisor of `nodes`",
            "Another candidate is the first that fits: compare the list (each divisor of `nodes` above 1) and what each keeps." => |_| {
            // 5 and 8 do not divide the 12 nodes, but 8 divides the 48 ranks.
            let all = [2, 3, 4, 6, 12, 5, 8].map(|p| nth(heavy(), (12, 4), (4, p, Zero0)));
            let more = [3, 9].map(|p| nth(work(), (9, 1), (1, p, Zero0)));
            // A pipeline of 7 stages with `tensor` 1 would fit as well.
            all.into_iter().chain(more).chain([(work(), machine(7, 2, 2_500))]).collect()
        };
        gathers_parameters_over_fast_links: "with `Zero3`",
            "`Zero3` is a candidate with one node, or if `between` is at least `inside`." => |_| vec![
                links(1, 300e9, 300e9), links(2, 300e9, 25e9), links(2, 300e9, 299e9),
                links(2, 25e9, 50e9), links(2, 300e9, 300e9), links(1, 300e9, 25e9),
            ];
        has_at_most_a_stage_a_layer: "up to `layers`", "A pipeline has at most as many stages as the model has layers." => |_| {
            let with = |layers| Work { layers, ..work() };
            // So little memory that only more stages would fit.
            [4, 5, 6, 1].into_iter().flat_map(|l| [12, 4].map(|p| nth(with(l), (12, 2), (2, p, Zero0)))).collect()
        };
        uses_all_ranks: "ranks / (`tensor` · `pipeline`)", "`data` is the number of all ranks divided by `tensor` · `pipeline`." => |d| {
            let works = [(); 3].map(|()| Work { batch: d.whole(30, 90) as u64, ..heavy() });
            let which = [(4, 1, Zero0), (4, 3, Zero0), (2, 1, Zero0)];
            works.iter().flat_map(|w| which.map(|one| nth(*w, (6, 4), one))).collect()
        };
        counts_the_activations_of_a_pipeline: "min(`pipeline`, `micro_batches`)",
            "With a pipeline, a micro-batch is one sample, and min(`pipeline`, `micro_batches`) of them are kept." => |_| {
            let few = Work { batch: 2, ..heavy() };
            [few, heavy()].iter().flat_map(|w| [2, 4].map(|p| nth(*w, (4, 2), (2, p, Zero0)))).collect()
        };
        rounds_up: "rounded up", "The share, parameters and activations of a rank, and the micro-batches are rounded up." => |d| {
            let mut all = Vec::new();
            for work in [odd(d), odd(d)] {
                all.extend([(work, machine(1, 4, 45_000)), nth(work, (4, 3), (3, 1, Zero0)), nth(work, (4, 3), (3, 4, Zero0))]);
            }
            // The bytes of three samples are not a multiple of those of one that was rounded.
            let three = Work { parameters: 3_000, ..work() };
            all.push((three, machine(1, 3, 16_067)));
            all
        };
        fills_the_memory_exactly: "at most the memory of a rank", "A candidate fits if its bytes are at most the memory." => |_| {
            let which = [(1, 1, Zero0), (1, 1, Zero2), (4, 1, Zero0), (4, 2, Zero0)];
            let memory = which.map(|one| least(&work(), (4, 4), one));
            memory.iter().flat_map(|&m| [(work(), machine(4, 4, m)), (work(), machine(4, 4, m - 1))]).collect()
        };
        returns_the_smallest_if_none_fits: "the one with the fewest bytes",
            "If none fits, return the candidate with the fewest bytes, the first of equals." => |_| {
            // Large activations: a pipeline that holds many of them needs more than a candidate before it.
            let large = Work { activations: 1_000_000, parameters: 100, ..work() };
            let small = [(1, 1), (1, 4), (2, 4), (6, 2)].into_iter().flat_map(|s: (u64, u64)| [0, 50].map(|m| (work(), machine(s.0, s.1, m))));
            small.chain([(4, 1), (2, 4), (6, 2)].map(|s| (large, machine(s.0, s.1, 10)))).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.6" choose;
    1 "The candidate with the fewest bytes is chosen; it is the first that fits.";
    2 "ZeRO 3 is a candidate over slow links, too: it needs one node, or links between nodes that are as fast as those inside.";
    3 "Only powers of two are tried; each divisor of `ranks_per_node` is a candidate.";
    4 "There may be more stages than layers.";
    5 "The share is the whole batch; the copies share it.";
    6 "The micro-batch is always one sample; take the largest that fits.";
    7 "A stage holds the activations of all micro-batches, as in GPipe; in 1F1B it holds at most `pipeline`.";
    8 "A stage holds `pipeline` micro-batches even if there are fewer.";
    9 "If none fits, the last candidate is returned; return the one with the fewest bytes.";
};
