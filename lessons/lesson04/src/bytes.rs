//! 4.6: the bytes of a step, and the largest batch.

use canopy::{
    precision::BytesPerParameter,
    train::memory::{LayerSize, StepBytes, StepSize, step_bytes},
};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson04, REFERENCE, answers};

/// A step, a budget, and what is compared of the largest batch and its bytes.
type Input = (StepSize, u64, Part);
type Part = fn(u64, StepBytes) -> String;

const BATCH: Part = |clouds, _| format!("{clouds} clouds");
const OF_PARAMETERS: Part = |_, b| {
    format!(
        "{} of parameters, {} of gradients, {} of the optimizer",
        b.parameters, b.gradients, b.optimizer
    )
};
const ACTIVATIONS: Part = |_, b| format!("{} of activations", b.activations);
const PASSING: Part = |_, b| format!("{} in passing", b.passing);
const ALL: Part = |clouds, b| format!("{clouds} clouds, {b:?}");

fn filled(answer: &Lesson04, (step, budget, part): Input) -> Verdict {
    let case = given(format!("{step:?}, budget {budget}"));
    let got = (answer.largest_batch)(&step, budget);
    let expected = (REFERENCE.largest_batch)(&step, budget);
    // The bytes are those of the batch that was returned, so that a wrong batch is wrong once.
    let own = got.unwrap_or_default().0;
    let expected = expected.map(|(clouds, _)| (clouds, step_bytes(&step, own)));
    let seen = |filled: Option<(u64, StepBytes)>| {
        let text = filled.map_or("None".into(), |(clouds, bytes)| part(clouds, bytes));
        Facts::default().text(format!("result, bytes of {own} clouds"), text)
    };
    case.same(seen(got), seen(expected))
}

/// Bytes of a parameter: weight, gradient, master copy, optimizer. fp32 with Adam.
const PLAIN: [u32; 4] = [4, 4, 0, 8];

/// Rows, and the bytes of a row: kept, passing. One layer keeps most and has the most rows, one needs most in passing,
/// one most a row.
const LAYERS: [[u64; 3]; 3] = [[80, 120, 20], [60, 24, 160], [2, 36, 600]];

fn step(parameters: u64, each: [u32; 4], layers: &[[u64; 3]]) -> StepSize {
    let [weight, gradient, master, optimizer] = each;
    let layer = |&[rows, kept, passing]: &[u64; 3]| LayerSize {
        name: "a layer".into(),
        rows,
        kept,
        passing,
    };
    StepSize {
        parameters,
        each: BytesPerParameter {
            weight,
            gradient,
            master,
            optimizer,
        },
        layers: layers.iter().map(layer).collect(),
    }
}

/// With a budget `more` bytes above what `batch` clouds need, or below.
fn fits(step: &StepSize, batch: u64, more: i64, part: Part) -> Input {
    (
        step.clone(),
        step_bytes(step, batch).total().saturating_add_signed(more),
        part,
    )
}

/// Seven clouds of a step with its layers in three orders.
fn rotations(d: &mut Draw, part: Part) -> Vec<Input> {
    let [a, b, c] = LAYERS;
    let parameters = d.whole(1000, 3000) as u64;
    let of = |layers: [[u64; 3]; 3]| fits(&step(parameters, PLAIN, &layers), 7, 1, part);
    [[a, b, c], [b, c, a], [c, a, b]].map(of).to_vec()
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.6";
    by filled {
        counts_the_bytes_of_parameters: "the weight and the master copy",
            "Each part is `step.parameters` times its bytes in `step.each`; weight and master are one part." => |d| {
            let each = [PLAIN, [2, 2, 8, 8], [1, 2, 4, 4], [2, 4, 4, 0]];
            each.map(|each| fits(&step(d.whole(1000, 3000) as u64, each, &LAYERS), 7, 1, OF_PARAMETERS)).to_vec()
        };
        counts_the_activations_of_all_layers: "summed over all layers",
            "Add `rows` × `kept` of all layers, and multiply by the clouds." => |d| rotations(d, ACTIVATIONS);
        counts_backward_memory_of_the_widest_layer_once: "one layer at a time",
            "Take the greatest `rows` × `passing` of a single layer, and multiply it by the clouds." => |d| {
            let ([a, b, c], mut all) = (LAYERS, rotations(d, PASSING));
            // A layer that keeps nothing may need most.
            all.push(fits(&step(1234, PLAIN, &[a, [100, 0, 300], b, c]), 7, 1, PASSING));
            all
        };
        fills_the_budget: "at most `budget` bytes",
            "Subtract parameters, gradients, optimizer; divide by what a cloud keeps and passes; round down." => |d| {
            let (step, batch) = (step(1234, PLAIN, &LAYERS), d.whole(3, 40) as u64);
            [0, -1, 1].map(|more| fits(&step, batch, more, BATCH)).to_vec()
        };
        is_none_if_two_clouds_do_not_fit: "None if not even 2 clouds",
            "2 clouds are enough. Return None for fewer, and if the budget is below the bytes without any." => |_| {
            let budgets = [(2, 0), (0, 0), (2, -1), (1, 0), (0, -1), (0, -1_000_000)];
            budgets.map(|(clouds, more)| fits(&step(1234, PLAIN, &LAYERS), clouds, more, BATCH)).to_vec()
        };
        does_not_try_one_batch_after_the_other: "Compute the batch",
            "Divide the bytes that are left by those of a cloud, in u64, instead of trying batches." =>
            |d| vec![fits(&step(10, PLAIN, &[[1, 1, 1]]), 400_000_000_000 + d.whole(0, 1000) as u64, 0, BATCH)];
        counts_bytes_exactly: "Count exactly",
            "Use u64 alone: floats round, a u32 overflows, and so do the bytes of a batch far too large." => |d| {
            let more = d.whole(0, 1000) as u64;
            vec![
                // More bytes than f64 counts exactly: of parameters, and of clouds.
                fits(&step(70_000_000_000_000_001 + 2 * more, PLAIN, &[[1, 2, 3]]), 7, 0, ALL),
                fits(&step(10, PLAIN, &[[4, 25, 75]]), 100_000_000_000_000 + more, -1, ALL),
                // 1 TB for clouds of 200 MB, whose product overflows.
                fits(&step(10, PLAIN, &[[50_000, 3000, 1000]]), 5000 + more / 10, 1, ALL),
            ]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.6" largest_batch;
    1 "The gradients are missing.";
    2 "The optimizer state is missing.";
    3 "The master copies of mixed precision are missing.";
    4 "The backward memory is summed over the layers; the backward pass is in one layer at a time.";
    5 "The memory of the backward pass is missing.";
    6 "The bytes are those of one cloud; they should be those of the batch.";
    7 "A batch of 1 is returned: batch norm cannot learn from one cloud.";
    8 "If nothing fits, the result is a batch of 0; it should be None.";
};
