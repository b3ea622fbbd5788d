//! 4.6: the bytes of a step, and the largest batch.

use canopy::{
    precision::BytesPerParameter,
    train::memory::{LayerSize, StepBytes, StepSize, step_bytes},
};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson04, REFERENCE, answers};

/// A step and a budget.
type Input = (StepSize, u64);

fn filled(answer: &Lesson04, (step, budget): Input) -> Verdict {
    let case = given(format!("{step:?}, budget {budget}"));
    let got = (answer.largest_batch)(&step, budget);
    let expected = (REFERENCE.largest_batch)(&step, budget);
    // The bytes are those of the batch that was returned, so that a wrong batch is wrong once.
    let own = got.map_or(0, |(clouds, _)| clouds);
    let own = expected.map(|(clouds, _)| (clouds, step_bytes(&step, own)));
    let seen = |filled: Option<(u64, StepBytes)>| {
        let text = |of: &dyn Fn(u64, StepBytes) -> String| {
            filled.map_or("None".into(), |(clouds, bytes)| of(clouds, bytes))
        };
        Facts::default()
            .text("result", if filled.is_some() { "Some" } else { "None" })
            .text("parameters, gradients, optimizer", text(&|_, b| format!("{} {} {}", b.parameters, b.gradients, b.optimizer)))
            .cause("Each part is `step.parameters` times its bytes in `step.each`, in u64; weight and master are one.")
            .text("activations", text(&|_, b| b.activations.to_string()))
            .cause("Add `rows` × `kept` of all layers, and multiply by the clouds, in u64.")
            .text("passing", text(&|_, b| b.passing.to_string()))
            .cause("Take the greatest `rows` × `passing` of a single layer, and multiply it by the clouds, in u64.")
            .text("clouds", text(&|clouds, _| clouds.to_string()))
    };
    case.same(seen(got), seen(own))
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
fn fits(step: &StepSize, batch: u64, more: i64) -> Input {
    let budget = step_bytes(step, batch).total().saturating_add_signed(more);
    (step.clone(), budget)
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.6";
    by filled {
        fills_the_budget: "at most `budget` bytes",
            "All that parameters, gradients and optimizer leave may be used: divide it by what a cloud keeps and passes, and round down." => |d| {
            let [a, b, c] = LAYERS;
            let each = [PLAIN, [2, 2, 8, 8], [1, 2, 4, 4], [2, 4, 4, 0]];
            let mut all = each.map(|each| fits(&step(d.whole(1000, 3000) as u64, each, &LAYERS), 7, 1)).to_vec();
            // A layer that keeps nothing may need most.
            let orders = [&[b, c, a][..], &[c, a, b], &[a, [100, 0, 300], b, c]];
            all.extend(orders.map(|layers| fits(&step(1234, PLAIN, layers), 7, 1)));
            let batch = d.whole(3, 40) as u64;
            all.extend([0, -1, 1].map(|more| fits(&step(1234, PLAIN, &LAYERS), batch, more)));
            all
        };
        is_none_if_two_clouds_do_not_fit: "None if not even 2 clouds",
            "2 clouds are enough. Return None for fewer, and if the budget is below the bytes without any." => |_| {
            let budgets = [(2, 0), (0, 0), (2, -1), (1, 0), (0, -1), (0, -1_000_000)];
            budgets.map(|(clouds, more)| fits(&step(1234, PLAIN, &LAYERS), clouds, more)).to_vec()
        };
        does_not_try_one_batch_after_the_other: "without trying batches",
            "Divide the bytes that are left by those of a cloud, in u64, instead of trying batches." =>
            |d| vec![fits(&step(10, PLAIN, &[[1, 1, 1]]), 400_000_000_000 + d.whole(0, 1000) as u64, 0)];
        counts_bytes_exactly: "Compute in u64",
            "Use u64 alone: floats round, a u32 overflows, and so do the bytes of a batch far too large." => |d| {
            let more = d.whole(0, 1000) as u64;
            vec![
                // More bytes than f64 counts exactly: of parameters, and of clouds.
                fits(&step(70_000_000_000_000_001 + 2 * more, PLAIN, &[[1, 2, 3]]), 7, 0),
                fits(&step(10, PLAIN, &[[4, 25, 75]]), 100_000_000_000_000 + more, -1),
                // 1 TB for clouds of 200 MB, whose product overflows.
                fits(&step(10, PLAIN, &[[50_000, 3000, 1000]]), 5000 + more / 10, 1),
            ]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.6" largest_batch;
    1 "The master copies of mixed precision are missing.";
    2 "The backward memory is summed over the layers; the backward pass is in one layer at a time.";
    3 "The bytes are those of one cloud; they should be those of the batch.";
};
