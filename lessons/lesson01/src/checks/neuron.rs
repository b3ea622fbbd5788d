use grader::{Draw, Verdict, draw, given};

use crate::Lesson01;

pub fn sums_weights_times_inputs(answer: &Lesson01) -> Verdict {
    let (x, w) = weighted(&mut draw(), 4);
    check_neuron(answer, &x, &w, 0.0, "identity", |z| z)
}

pub fn adds_the_bias_once(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (x, w) = weighted(&mut draw, 3);
    let bias = draw.number(1.0, 2.0) as f32;
    check_neuron(answer, &x, &w, bias, "identity", |z| z)
}

pub fn applies_the_activation_last(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (x, w) = weighted(&mut draw, 3);
    let sum: f64 = x.iter().zip(&w).map(|(&x, &w)| f64::from(x * w)).sum();
    // The bias takes the sum over to the other side of 0, so that before or after it makes a difference.
    let bias = (-sum - sum.signum() * draw.number(0.3, 0.6)) as f32;
    check_neuron(answer, &x, &w, bias, "tanh", f32::tanh)?;
    check_neuron(answer, &x, &w, bias, "relu", |z| z.max(0.0))?;
    check_neuron(answer, &x, &w, -bias - 2.0 * sum as f32, "relu", |z| z.max(0.0))
}

pub fn accepts_any_number_of_inputs(answer: &Lesson01) -> Verdict {
    check_neuron(answer, &[], &[], 0.75, "identity", |z| z)?;
    check_neuron(answer, &[2.0], &[-1.5], 0.5, "identity", |z| z)?;
    let mut draw = draw();
    let count = draw.whole(17, 40);
    let (x, w) = weighted(&mut draw, count);
    check_neuron(answer, &x, &w, 0.25, "identity", |z| z)
}

/// Inputs and weights without a zero or a one among them.
fn weighted(draw: &mut Draw, count: usize) -> (Vec<f32>, Vec<f32>) {
    (draw.list(count, 0.2, 0.9), draw.list(count, -0.9, -0.2))
}

fn check_neuron(
    answer: &Lesson01,
    x: &[f32],
    w: &[f32],
    bias: f32,
    name: &str,
    activation: fn(f32) -> f32,
) -> Verdict {
    let sum: f64 = x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
    let expected = activation((sum + f64::from(bias)) as f32);
    given(format!(
        "inputs {x:?}, weights {w:?}, bias {bias}, activation {name}"
    ))
    .close("output", (answer.neuron)(x, w, bias, activation), expected)
}
