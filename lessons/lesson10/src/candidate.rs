//! 10.6: what a rank keeps.

use canopy::{
    shard::Stage::{self, Zero0, Zero1},
    split::{Machine, Work},
};
use grader::{Check, Mistake, Verdict, given, mistakes, rows};

use crate::{
    Lesson10, REFERENCE, answers,
    planner::{Input, cases, facts, machine, work},
};

/// A step, a machine, `tensor` and `pipeline`, the stage.
type Split = (Work, Machine, [u64; 2], Stage);

/// The cases with what is chosen for each.
fn splits(cases: Vec<Input>) -> Vec<Split> {
    let split = |(work, machine)| {
        let c = (REFERENCE.choose)(&work, &machine);
        (work, machine, [c.tensor, c.pipeline], c.stage)
    };
    cases.into_iter().map(split).collect()
}

fn kept(answer: &Lesson10, (work, machine, [tensor, pipeline], stage): Split) -> Verdict {
    let case = given(format!(
        "{work:?}, {machine:?}, tensor {tensor}, pipeline {pipeline}, {stage:?}"
    ));
    let of = |lesson: &Lesson10| facts((lesson.candidate)(&work, &machine, tensor, pipeline, stage));
    case.same(of(answer), of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.6";
    by kept {
        keeps_the_largest_micro_batch: "its other fields",
            "Without a pipeline, a rank keeps one micro-batch: as many samples as fit beside the model, at least 1, at most the share." => |d| {
            let work = work(100 + d.whole(0, 20) as u64);
            [(1, 4), (1, 1), (3, 2)].iter().flat_map(|&size| splits(cases(work, size, |c| c.tensor == 1))).collect()
        };
        rounds_each_quotient_up: "its other fields", "The share, parameters and activations of a rank, and the micro-batches are rounded up." => |d| {
            let [parameters, activations] = [1_001, 10_001].map(|n| n + 12 * d.whole(0, 40) as u64);
            let work = Work { parameters, batch: 49, ..work(activations) };
            // The bytes of three samples are not a multiple of those of one that was rounded.
            let three = splits(vec![(Work { parameters: 3_000, ..self::work(100) }, machine(1, 3, 16_067))]);
            [(1, 4), (4, 3)].iter().flat_map(|&size| splits(cases(work, size, |_| true))).chain(three).collect()
        };
        keeps_the_parts_of_a_split: "its other fields",
            "parts = `tensor` · `pipeline`: a rank keeps parameters / parts, and activations / parts of each sample." => |_| {
            let splits = |work| splits(cases(work, (6, 4), |c| c.tensor * c.pipeline > 1));
            [splits(work(30_000)), splits(Work { batch: 2, ..work(30_000) })].concat()
        };
        keeps_one_sample_if_none_fits: "its other fields",
            "If not even one sample fits beside the model, `micro_batch` is 1 and `fits` is false. With a pipeline, it is always 1." => |_| {
            let split = |memory, tensor, pipeline, stage| (work(100), machine(2, 4, memory), [tensor, pipeline], stage);
            vec![
                split(10, 1, 1, Zero0), split(16_050, 1, 1, Zero0), split(2_025, 4, 2, Zero0), split(1_000_000, 4, 2, Zero0),
                split(1_000_000, 2, 1, Zero1),
            ]
        };
        fits_exactly: "its other fields", "`fits` is whether `bytes` is at most the memory of a rank." => |_| {
            let exactly = |(work, machine)| (work, Machine { memory: (REFERENCE.choose)(&work, &machine).bytes, ..machine });
            splits(cases(work(100), (4, 4), |_| true).into_iter().map(exactly).collect())
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.6" candidate;
    1 "The micro-batch is always one sample; take the largest that fits.";
    2 "A stage holds the activations of all micro-batches, as in GPipe; in 1F1B it holds at most `pipeline`.";
    3 "A stage holds `pipeline` micro-batches even if there are fewer.";
    4 "A split fits if its bytes are at most the memory: <= and not <.";
    5 "`fits` is true for each split; it is whether `bytes` is at most the memory of a rank.";
};
