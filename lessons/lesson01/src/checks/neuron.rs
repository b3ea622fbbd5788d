use grader::{Draw, Verdict, draw, given};

use crate::Lesson01;

pub fn sums_weights_times_inputs(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (x, w) = weighted(&mut draw, 3);
    check_neuron(answer, &x, &w, 0.0, IDENTITY)?;
    let (x, w) = (draw.list(7, -3.0, 3.0), draw.list(7, -3.0, 3.0));
    check_neuron(answer, &x, &w, 0.0, IDENTITY)
}

pub fn adds_the_bias_once(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (x, w) = weighted(&mut draw, 3);
    let bias = draw.number(1.0, 2.0) as f32;
    check_neuron(answer, &x, &w, bias, IDENTITY)?;
    check_neuron(answer, &x, &w, -bias, IDENTITY)
}

pub fn applies_the_activation_last(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (x, w) = weighted(&mut draw, 3);
    let sum: f64 = x.iter().zip(&w).map(|(&x, &w)| f64::from(x * w)).sum();
    // The bias takes the sum over to the other side of 0, so that before or after it makes a difference.
    let bias = (-sum - sum.signum() * draw.number(0.3, 0.6)) as f32;
    check_neuron(answer, &x, &w, bias, ("tanh", f32::tanh))?;
    check_neuron(answer, &x, &w, bias, RELU)?;
    check_neuron(answer, &x, &w, -bias - 2.0 * sum as f32, RELU)?;
    check_neuron(answer, &x, &w, bias, ("cos", f32::cos))
}

pub fn accepts_any_number_of_inputs(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    // cos(0) is 1: neither 0, nor f(0), nor b is f(b).
    check_neuron(answer, &[], &[], 0.75, ("cos", f32::cos))?;
    check_neuron(answer, &[2.0], &[-1.5], 0.5, IDENTITY)?;
    let long = draw.whole(40, 70);
    for count in (2..=9).chain([17, long]) {
        let (x, w) = (draw.list(count, -2.0, 2.0), draw.list(count, -2.0, 2.0));
        check_neuron(answer, &x, &w, 0.25, IDENTITY)?;
    }
    Ok(())
}

/// Inputs and weights without a zero or a one among them.
fn weighted(draw: &mut Draw, count: usize) -> (Vec<f32>, Vec<f32>) {
    (draw.list(count, 0.2, 0.9), draw.list(count, -0.9, -0.2))
}

/// An activation and its name.
type Activation = (&'static str, fn(f32) -> f32);

const IDENTITY: Activation = ("identity", |z| z);
const RELU: Activation = ("relu", |z| z.max(0.0));

fn check_neuron(answer: &Lesson01, x: &[f32], w: &[f32], bias: f32, (name, f): Activation) -> Verdict {
    let products = || x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w));
    let expected = f((products().sum::<f64>() + f64::from(bias)) as f32);
    let size = products().fold(0.0, |m, p| p.abs().max(m));
    let case = given(format!(
        "inputs {x:?}, weights {w:?}, bias {bias}, activation {name}"
    ))
    .at_scale(size);
    case.close("output", (answer.neuron)(x, w, bias, f), expected)
}
