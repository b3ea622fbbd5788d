//! 1.1: a neuron.

use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson01, REFERENCE, answers};

/// Inputs, weights, bias, activation.
type Input = (Vec<f32>, Vec<f32>, f32, Activation);
/// An activation and its name.
type Activation = (&'static str, fn(f32) -> f32);

const IDENTITY: Activation = ("identity", |z| z);
const RELU: Activation = ("relu", |z| z.max(0.0));
const COS: Activation = ("cos", f32::cos);

/// Inputs and weights without a zero or a one among them; their products are negative.
fn drawn(draw: &mut Draw, bias: f32, activation: Activation) -> Input {
    (draw.list(3, 0.2, 0.9), draw.list(3, -0.9, -0.2), bias, activation)
}

fn output(answer: &Lesson01, (x, w, bias, (name, f)): Input) -> Verdict {
    let products = || x.iter().zip(&w).map(|(&x, &w)| f64::from(x) * f64::from(w));
    let expected = f((products().sum::<f64>() + f64::from(bias)) as f32);
    let case = given(format!(
        "inputs {x:?}, weights {w:?}, bias {bias}, activation {name}"
    ));
    let size = products().fold(0.0, |m, p| p.abs().max(m));
    case.at_scale(size)
        .close("output", (answer.neuron)(&x, &w, bias, f), expected)
}

pub const CHECKS: &[Check<Lesson01>] = rows! { "1.1";
    by output {
        sums_weights_times_inputs: "f(Σ wᵢ·xᵢ + b)",
            "Pass `activation` the products of each input and its own weight, all added from 0, and divided by nothing." =>
            |d| vec![drawn(d, 0.0, IDENTITY), (d.list(7, -3.0, 3.0), d.list(7, -3.0, 3.0), 0.0, IDENTITY)];
        adds_the_bias_once: "f(Σ wᵢ·xᵢ + b)", "Add the bias to the sum, once and as it is." => |d| {
            let bias = d.number(1.0, 2.0) as f32;
            vec![drawn(d, bias, IDENTITY), drawn(d, -bias, IDENTITY)]
        };
        applies_the_activation_last: "where f is the activation",
            "Apply `activation` once, to the whole sum with the bias." => |d| {
            let (x, w, ..) = drawn(d, 0.0, RELU);
            let sum: f32 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
            // It takes the sum over to the other side of 0, so that before or after it makes a difference.
            let bias = -sum + d.number(0.3, 0.6) as f32;
            let with = |bias: f32, activation: Activation| (x.clone(), w.clone(), bias, activation);
            vec![with(bias, ("tanh", f32::tanh)), with(bias, RELU), with(-bias - 2.0 * sum, RELU), with(bias, COS)]
        };
        accepts_any_number_of_inputs: "f(Σ wᵢ·xᵢ + b)", "Every input counts, up to the last one, however many there are." => |d| {
            let counts = (1..=9).chain([17, d.whole(40, 70)]);
            counts.map(|n| (d.list(n, -2.0, 2.0), d.list(n, -2.0, 2.0), 0.75, COS)).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson01>] = mistakes! { "1.1" neuron;
    1 "The bias is left out.";
    2 "The bias is added once for each input, inside the sum.";
    3 "The activation is never applied.";
    4 "The activation is applied before the bias is added; it comes last.";
    5 "The activation is applied to each product; apply it to the whole sum.";
    6 "The activation is applied twice; apply it once, to the sum with the bias.";
    7 "Weights and inputs are paired in opposite order.";
    8 "The last input is left out: the loop ends one too early.";
    9 "Inputs and weights are added; they are multiplied, and the products are added.";
    10 "The activation is always ReLU; use the argument `activation`.";
};
