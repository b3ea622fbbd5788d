use canopy::{
    precision::BytesPerParameter,
    train::memory::{LayerSize, StepBytes, StepSize},
};
use grader::{Case, Draw, Verdict, draw, given};

use super::refuse;
use crate::Lesson04;

fn layer(name: &str, rows: usize, kept: usize, passing: usize) -> LayerSize {
    LayerSize {
        name: name.into(),
        rows: rows as u64,
        kept: kept as u64,
        passing: passing as u64,
    }
}

/// Three layers, in an order drawn: one keeps most and has the most rows, one has the most backward memory, one the most
/// backward memory per row.
fn drawn(draw: &mut Draw, each: BytesPerParameter) -> StepSize {
    let points = draw.whole(40, 90);
    let mut layers = vec![
        layer("mlp.0", points + 20, 4 * draw.whole(20, 40), 4 * draw.whole(1, 9)),
        layer("mlp.1", points, 4 * draw.whole(3, 9), 4 * draw.whole(30, 60)),
        layer("head.0", 2, 4 * draw.whole(3, 9), 4 * draw.whole(100, 200)),
    ];
    layers.rotate_left(draw.whole(0, 2));
    StepSize {
        parameters: draw.whole(1000, 3000) as u64,
        each,
        layers,
    }
}

fn each(weight: u32, gradient: u32, master: u32, optimizer: u32) -> BytesPerParameter {
    BytesPerParameter {
        weight,
        gradient,
        master,
        optimizer,
    }
}

/// fp32 with Adam.
fn plain() -> BytesPerParameter {
    each(4, 4, 0, 8)
}

/// The same step with its layers in all orders of a rotation.
fn rotations(step: &StepSize) -> Vec<StepSize> {
    let turned = |by| {
        let mut step = step.clone();
        step.layers.rotate_left(by);
        step
    };
    (0..3).map(turned).collect()
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

fn told(step: &StepSize, budget: u64) -> String {
    let layers: Vec<String> = step
        .layers
        .iter()
        .map(|l| format!("{} rows, {} kept, {} passing", l.rows, l.kept, l.passing))
        .collect();
    let e = step.each;
    format!(
        "{} parameters of {}+{}+{}+{} bytes (weight, master, gradient, optimizer); layers: {}; budget {budget}",
        step.parameters,
        e.weight,
        e.master,
        e.gradient,
        e.optimizer,
        layers.join("; ")
    )
}

fn shown(step: &StepSize, budget: u64) -> Case {
    given(told(step, budget))
}

/// Tests one part of the bytes of the largest batch, with a budget one byte above the need of `batch` clouds.
fn check(answer: &Lesson04, step: &StepSize, what: &str, part: fn(&StepBytes) -> Vec<u64>) -> Verdict {
    let batch = 7;
    let expected = by_hand(step, batch);
    let budget = expected.total() + 1;
    let case = shown(step, budget);
    match (answer.largest_batch)(step, budget) {
        Some((_, got)) => case.close(what, &part(&got), &part(&expected)),
        None => case.require("result", false, "None"),
    }
}

pub fn counts_the_bytes_of_parameters(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for each in [plain(), each(2, 2, 8, 8), each(1, 2, 4, 4), each(2, 4, 4, 0)] {
        let step = drawn(&mut draw, each);
        check(answer, &step, "parameters, gradients, optimizer", |b| {
            vec![b.parameters, b.gradients, b.optimizer]
        })?;
    }
    Ok(())
}

pub fn counts_the_activations_of_all_layers(answer: &Lesson04) -> Verdict {
    for step in rotations(&drawn(&mut draw(), plain())) {
        check(answer, &step, "activations", |b| vec![b.activations])?;
    }
    Ok(())
}

pub fn counts_backward_memory_of_the_widest_layer_once(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let step = drawn(&mut draw, plain());
    for step in rotations(&step) {
        check(answer, &step, "passing", |b| vec![b.passing])?;
    }
    // A layer that keeps nothing may need most.
    let mut step = step;
    step.layers
        .insert(1, layer("relu.0", 100, 0, 4 * draw.whole(70, 90)));
    check(answer, &step, "passing", |b| vec![b.passing])
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
    let step = drawn(&mut draw, plain());
    let batch = draw.whole(3, 40) as u64;
    let budget = by_hand(&step, batch).total();
    for (budget, batch) in [(budget, batch), (budget - 1, batch - 1), (budget + 1, batch)] {
        check_batch(answer, &step, budget, Some(batch))?;
    }
    Ok(())
}

pub fn is_none_if_two_clouds_do_not_fit(answer: &Lesson04) -> Verdict {
    let step = drawn(&mut draw(), plain());
    let (none, two) = (by_hand(&step, 0).total(), by_hand(&step, 2).total());
    check_batch(answer, &step, two, Some(2))?;
    for budget in [none, two - 1, by_hand(&step, 1).total(), none - 1, 0] {
        check_batch(answer, &step, budget, None)?;
    }
    Ok(())
}

/// More bytes than f64 counts exactly: of parameters, and of clouds. Then 1 TB for clouds of 200 MB, whose product
/// overflows u64.
pub fn counts_bytes_exactly(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let mut step = StepSize {
        parameters: 70_000_000_000_000_001 + 2 * draw.whole(0, 1000) as u64,
        each: plain(),
        layers: vec![layer("mlp.0", 1, 2, 3)],
    };
    check_exactly(answer, &step, by_hand(&step, 7).total(), 7)?;
    step.parameters = 10;
    step.layers = vec![layer("mlp.0", 4, 25, 75)];
    let batch = 100_000_000_000_000 + draw.whole(0, 1000) as u64;
    check_exactly(answer, &step, by_hand(&step, batch).total() - 1, batch - 1)?;
    step.layers = vec![layer("mlp.0", 50_000, 3000, 1000)];
    let batch = 5000 + draw.whole(0, 100) as u64;
    check_exactly(answer, &step, by_hand(&step, batch).total() + 1, batch)
}

fn check_exactly(answer: &Lesson04, step: &StepSize, budget: u64, batch: u64) -> Verdict {
    let expected = by_hand(step, batch);
    let input = told(step, budget);
    given(&input);
    let got = (answer.largest_batch)(step, budget);
    if got == Some((batch, expected)) {
        return Ok(());
    }
    let parts = |(n, b): (u64, StepBytes)| {
        [
            n,
            b.parameters,
            b.gradients,
            b.optimizer,
            b.activations,
            b.passing,
        ]
    };
    // Known mistakes are recognised by whether the result is rounded, or quite another.
    let rounded = |(n, b): (u64, StepBytes)| {
        let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= 1e-5 * b as f64;
        let of_batch = by_hand(step, n);
        near(b.parameters, expected.parameters)
            && near(b.total(), expected.total())
            && (b.activations, b.passing) == (of_batch.activations, of_batch.passing)
    };
    let code = vec![got.map_or(0.0, |g| if rounded(g) { 1.0 } else { 2.0 })];
    let said = |r: Option<(u64, StepBytes)>| match r {
        Some((n, b)) => format!("{n} clouds, {:?} bytes", &parts((n, b))[1..]),
        None => "None".into(),
    };
    refuse(
        &input,
        "batch and its bytes",
        code,
        &said(Some((batch, expected))),
        &said(got),
    )
}

pub fn does_not_try_one_batch_after_the_other(answer: &Lesson04) -> Verdict {
    let step = StepSize {
        parameters: 10,
        each: plain(),
        layers: vec![layer("mlp.0", 1, 1, 1)],
    };
    let batch = 400_000_000_000 + draw().whole(0, 1000) as u64;
    check_batch(answer, &step, by_hand(&step, batch).total(), Some(batch))
}
