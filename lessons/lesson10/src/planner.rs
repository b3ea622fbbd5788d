//! 10.7: the planner.

use canopy::{
    precision::{BF16, bytes_per_parameter},
    shard::Stage::{Zero0, Zero1, Zero2},
    split::{Choice, Machine, Work},
};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson10, REFERENCE, answers};

pub type Input = (Work, Machine);

/// A thousand parameters of 16 bytes, and few bytes of activations a sample: so that a case can be followed by hand. Where one
/// sample does not fit beside the model, ZeRO does not help.
pub fn work(activations: u64) -> Work {
    Work {
        parameters: 1000,
        each: bytes_per_parameter(BF16, 2),
        activations,
        layers: 12,
        batch: 48,
    }
}

/// Links between nodes are slower than those inside.
pub fn machine(nodes: u64, ranks_per_node: u64, memory: u64) -> Machine {
    Machine {
        nodes,
        ranks_per_node,
        memory,
        inside: 300e9,
        between: 25e9,
    }
}

/// A machine with less and less memory: always one byte less than the choice before needs. Cases whose choice is `which`.
pub fn cases(work: Work, (nodes, ranks): (u64, u64), which: fn(&Choice) -> bool) -> Vec<Input> {
    let (mut all, mut machine) = (Vec::new(), machine(nodes, ranks, 10_000_000));
    loop {
        let choice = (REFERENCE.choose)(&work, &machine);
        if !choice.fits {
            return all;
        }
        if which(&choice) {
            all.push((work, machine));
        }
        machine.memory = choice.bytes - 1;
    }
}

fn chosen(answer: &Lesson10, (work, machine): Input) -> Verdict {
    let case = given(format!("{work:?}, {machine:?}"));
    case.same(
        facts((answer.choose)(&work, &machine)),
        facts((REFERENCE.choose)(&work, &machine)),
    )
}

/// First which candidate it is, then what it keeps.
pub fn facts(c: Choice) -> Facts {
    let candidate = format!("tensor {}, pipeline {}, {:?}", c.tensor, c.pipeline, c.stage);
    Facts::default()
        .text("candidate", candidate)
        .values("data", c.data)
        .cause("`data` is the number of all ranks divided by `tensor` · `pipeline`.")
        .values("micro_batch", c.micro_batch)
        .cause(
            "Without a pipeline: as many samples as fit beside the model, at least 1, at most the share. With one: 1. The share, \
             parameters and activations are rounded up.",
        )
        .values("micro_batches", c.micro_batches)
        .cause("The share is `batch` / `data`, and `micro_batches` is the share / `micro_batch`, both rounded up.")
        .values("bytes", c.bytes)
        .cause(
            "The three numbers of `bytes_per_rank` for parameters / parts, and activations / parts of each sample kept, both \
             rounded up. A pipeline keeps min(`pipeline`, `micro_batches`) samples.",
        )
        .text("fits", c.fits.to_string())
        .cause("`fits` is whether `bytes` is at most the memory of a rank.")
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.7";
    by chosen {
        prefers_data_parallelism: "Data parallelism", "The first candidate is data parallelism with `Zero0`; return the first that fits." => |d| {
            let sizes = [(1, 1), (1, 4), (2, 3), (d.whole(2, 5) as u64, 2)];
            sizes.map(|(nodes, ranks)| (work(100), machine(nodes, ranks, 1_000_000))).into()
        };
        accepts_a_small_micro_batch: "that fits", "`Zero0` fits here, perhaps with a small micro-batch: return the first that fits." => |d| {
            let work = work(100 + d.whole(0, 20) as u64);
            [(1, 4), (1, 1), (3, 2)].iter().flat_map(|&size| cases(work, size, |c| c.stage == Zero0 && c.tensor == 1)).collect()
        };
        shares_states_next: "`Zero2`",
            "After `Zero0` come `Zero1` and `Zero2`: return the first that fits." =>
            |_| [(1, 4), (2, 4), (3, 2)].iter().flat_map(|&size| cases(work(100), size, |c| [Zero1, Zero2].contains(&c.stage))).collect();
        splits_layers_inside_a_node_then_over_nodes: "each divisor of `ranks_per_node`",
            "Another candidate is the first that fits. Compare the list: each divisor of `ranks_per_node`; then of `nodes`, with `tensor` = \
             `ranks_per_node`." => |d| {
            // The divisors of 12 and 6 are not all powers of two; 8 divides the ranks of 12 × 4, but not the nodes.
            let sizes = [(2, 12), (4, 6), (6, 4), (12, 4), (9, 1), (7, 2)];
            let batch = d.whole(30, 90) as u64;
            let works = [work(30_000), Work { batch, ..work(30_000) }, Work { batch: 2, ..work(30_000) }, work(100)];
            works.iter().flat_map(|&work| sizes.map(|size| cases(work, size, |c| c.tensor * c.pipeline > 1)).concat()).collect()
        };
        gathers_parameters_over_fast_links: "`Zero3`",
            "`Zero3` is a candidate with one node, or if `between` is at least `inside`." => |_| {
            // So little memory that of the copies of a whole model only that with ZeRO 3 fits.
            let links = |nodes, inside, between| {
                (work(100), Machine { inside, between, ..machine(nodes, 4, 4_000 / nodes + 107) })
            };
            vec![
                links(1, 300e9, 300e9), links(2, 300e9, 25e9), links(2, 300e9, 299e9),
                links(2, 25e9, 50e9), links(2, 300e9, 300e9), links(1, 300e9, 25e9),
            ]
        };
        returns_the_smallest_if_none_fits: "the first with the fewest bytes",
            "If none fits, return the candidate with the fewest bytes, the first of equals." => |_| {
            // Large activations: a pipeline that holds many of them needs more than a candidate before it.
            let large = Work { parameters: 1, ..work(1_000_000) };
            let sizes = [(1, 4), (4, 1), (2, 4), (6, 2), (1, 1)];
            sizes.iter().flat_map(|s| [work(100), large].map(|w| (w, machine(s.0, s.1, 10)))).collect()
        };
        has_at_most_a_stage_a_layer: "up to `layers`", "A pipeline has at most as many stages as the model has layers." => |_| {
            // So little memory that only more stages would fit, and a little more.
            let with = |layers| [800, 1_000, 2_200].map(|memory| (Work { layers, ..work(100) }, machine(12, 2, memory)));
            [4, 5, 6, 1].into_iter().flat_map(with).collect()
        };
        chooses_at_odd_sizes: "that fits", "Another candidate is the first that fits: check the rounding in `candidate` (10.6)." => |d| {
            let mut odd = || {
                let [parameters, activations] = [1_001, 10_001].map(|n| n + 12 * d.whole(0, 40) as u64);
                let work = Work { parameters, batch: 49, ..work(activations) };
                [(1, 4), (4, 3)].map(|size| cases(work, size, |_| true)).concat()
            };
            // The bytes of three samples are not a multiple of those of one that was rounded.
            let three = (Work { parameters: 3_000, ..work(100) }, machine(1, 3, 16_067));
            [odd(), odd(), vec![three]].concat()
        };
        fills_the_memory_exactly: "that fits", "A candidate fits if its bytes are at most the memory." => |_| {
            let exactly = |(work, machine)| (work, Machine { memory: (REFERENCE.choose)(&work, &machine).bytes, ..machine });
            cases(work(100), (4, 4), |_| true).into_iter().map(exactly).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.7" choose;
    1 "The candidate with the fewest bytes is chosen; it is the first that fits.";
    2 "ZeRO 3 is a candidate over slow links, too: it needs one node, or links between nodes that are as fast as those inside.";
    3 "Only powers of two are tried; each divisor of `ranks_per_node` is a candidate.";
    4 "There may be more stages than layers.";
    5 "If none fits, the last candidate is returned; return the one with the fewest bytes.";
};
