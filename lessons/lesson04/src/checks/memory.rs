use canopy::{
    precision::{BF16, FP32, bytes_per_parameter},
    train::memory::{LayerSize, StepBytes, StepSize},
};
use grader::{Case, Draw, Verdict, draw, given};

use crate::Lesson04;

fn layer(name: &str, rows: usize, kept: usize, passing: usize) -> LayerSize {
    LayerSize {
        name: name.into(),
        rows: rows as u64,
        kept: kept as u64,
        passing: passing as u64,
    }
}

/// Three layers: the second has the most backward memory, the third the most per row, and the first keeps most.
fn drawn(draw: &mut Draw, mixed: bool) -> StepSize {
    let points = draw.whole(40, 90);
    StepSize {
        parameters: draw.whole(1000, 3000) as u64,
        each: bytes_per_parameter(if mixed { BF16 } else { FP32 }, draw.whole(1, 2) as u32),
        layers: vec![
            layer("mlp.0", points, 4 * draw.whole(20, 40), 4 * draw.whole(1, 9)),
            layer("mlp.1", points, 4 * draw.whole(3, 9), 4 * draw.whole(30, 60)),
            layer("head.0", 1, 4 * draw.whole(3, 90), 4 * draw.whole(100, 200)),
        ],
    }
}

/// The parts of a step with `batch` clouds, cloud by cloud.
fn by_hand(step: &StepSize, batch: u64) -> StepBytes {
    let mut bytes = StepBytes {
        parameters: step.parameters * u64::from(step.each.weight)
            + step.parameters * u64::from(step.each.master),
        gradients: step.parameters * u64::from(step.each.gradient),
        optimizer: step.parameters * u64::from(step.each.optimizer),
        ..StepBytes::default()
    };
    for layer in &step.layers {
        bytes.activations += batch * layer.rows * layer.kept;
        bytes.passing = bytes.passing.max(batch * layer.rows * layer.passing);
    }
    bytes
}

fn shown(step: &StepSize, budget: u64) -> Case {
    let layers: Vec<String> = step
        .layers
        .iter()
        .map(|l| format!("{} rows, {} kept, {} passing", l.rows, l.kept, l.passing))
        .collect();
    let e = step.each;
    given(format!(
        "{} parameters of {}+{}+{}+{} bytes (weight, master, gradient, optimizer); layers: {}; budget {budget}",
        step.parameters,
        e.weight,
        e.master,
        e.gradient,
        e.optimizer,
        layers.join("; ")
    ))
}

/// Tests one part of the bytes of the largest batch, with a budget `more` bytes above the need of `batch` clouds.
fn check(answer: &Lesson04, step: &StepSize, what: &str, part: fn(&StepBytes) -> u64) -> Verdict {
    let batch = 3 + step.parameters % 5;
    let expected = by_hand(step, batch);
    let case = shown(step, expected.total() + 1);
    match (answer.largest_batch)(step, expected.total() + 1) {
        Some((_, got)) => case.close(what, part(&got), part(&expected)),
        None => case.require("result", false, "None"),
    }
}

pub fn counts_the_bytes_of_parameters(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for mixed in [false, true] {
        let step = drawn(&mut draw, mixed);
        check(answer, &step, "parameters", |b| b.parameters)?;
        check(answer, &step, "gradients", |b| b.gradients)?;
        check(answer, &step, "optimizer", |b| b.optimizer)?;
    }
    Ok(())
}

pub fn counts_the_activations_of_all_layers(answer: &Lesson04) -> Verdict {
    let step = drawn(&mut draw(), false);
    check(answer, &step, "activations", |b| b.activations)
}

pub fn counts_backward_memory_of_the_widest_layer_once(answer: &Lesson04) -> Verdict {
    let step = drawn(&mut draw(), false);
    check(answer, &step, "passing", |b| b.passing)
}

/// Tests the batch for a budget `more` bytes above the need of `batch` clouds.
fn check_batch(answer: &Lesson04, step: &StepSize, budget: u64, expected: Option<u64>) -> Verdict {
    let case = shown(step, budget);
    let got = (answer.largest_batch)(step, budget);
    match (got, expected) {
        (Some((got, _)), Some(expected)) => case.close("clouds", got, expected),
        (got, expected) => case.require(
            &format!("result, {expected:?} clouds"),
            got.is_none() && expected.is_none(),
            format!("{:?} clouds", got.map(|g| g.0)),
        ),
    }
}

pub fn fills_the_budget(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let step = drawn(&mut draw, false);
    let batch = draw.whole(3, 40) as u64;
    let budget = by_hand(&step, batch).total();
    for (budget, batch) in [(budget, batch), (budget - 1, batch - 1), (budget + 1, batch)] {
        check_batch(answer, &step, budget, Some(batch))?;
    }
    Ok(())
}

pub fn is_none_if_two_clouds_do_not_fit(answer: &Lesson04) -> Verdict {
    let step = drawn(&mut draw(), false);
    let (none, two) = (by_hand(&step, 0).total(), by_hand(&step, 2).total());
    check_batch(answer, &step, two, Some(2))?;
    for budget in [none, two - 1, by_hand(&step, 1).total(), none - 1, 0] {
        check_batch(answer, &step, budget, None)?;
    }
    Ok(())
}

pub fn counts_bytes_exactly(answer: &Lesson04) -> Verdict {
    let mut step = drawn(&mut draw(), false);
    step.parameters += 70_000_000_000;
    check(answer, &step, "all bytes", StepBytes::total)
}
