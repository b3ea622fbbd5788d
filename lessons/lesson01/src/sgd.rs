//! 1.3: a step of gradient descent.

use grader::{Check, Mistake, Verdict, mistakes, rows};

use crate::{
    Lesson01, REFERENCE, answers,
    steps::{ALIKE, DTYPES, SHAPES, Steps},
};

fn stepped(answer: &Lesson01, steps: Steps) -> Verdict {
    steps.compare(
        "",
        &[],
        &|params, grads, _, k| (answer.sgd_step)(params, grads, steps.rates[k]),
        &|params, grads, _, k| answers::sgd_step::<0>(params, grads, steps.rates[k]),
    )
}

pub const CHECKS: &[Check<Lesson01>] = rows! { "1.3";
    by stepped {
        steps_down_the_gradient: "w ← w − lr·g",
            "Subtract lr, as it is, times its own gradient from each parameter, and store that with `set`." =>
            |d| vec![Steps::new(d, &ALIKE[..1], &[0.25]), Steps::new(d, &ALIKE, &[0.25])];
        updates_every_parameter: "for each parameter w",
            "Change each parameter, of any shape, alone; without any, there is nothing to do." => |d| vec![
                Steps::new(d, &SHAPES, &[0.5]),
                // A gradient of 0 is no reason to stop.
                Steps::new(d, &SHAPES, &[0.5]).gradient(0, 0, 0.0),
                Steps::new(d, &SHAPES, &[0.5]).gradient(0, 1, 0.0),
                Steps::new(d, &SHAPES[1..2], &[0.5]),
                Steps::new(d, &[], &[0.5]),
            ];
        uses_the_current_learning_rate: "w ← w − lr·g", "Use the `lr` of this call." => |d| {
            let lr = (d.number(0.01, 0.1) * 1e4).round() / 1e4;
            vec![Steps::new(d, &ALIKE, &[lr, 0.0, lr / 10.0])]
        };
        computes_in_the_dtype_of_the_parameter: "Compute in the dtype",
            "Do not convert a tensor of f64, or `lr`, to f32: a number of f64 combines with a tensor of any dtype." => |d| vec![
                // Beyond the range of f32.
                Steps::new(d, &DTYPES, &[0.125]).size(1e40),
                // A step as long as the parameter: 0.1 in f32 is seen in f64.
                Steps::new(d, &DTYPES[1..2], &[0.1, 0.1]),
            ];
    }
};

pub const MISTAKES: &[Mistake<Lesson01>] = mistakes! { "1.3" sgd_step;
    1 "The step goes along the gradient; the loss decreases in the opposite direction.";
    2 "The learning rate is left out.";
    3 "Only the sign of the gradient is used; its size matters as well.";
    4 "The gradient is scaled to length 1; its size matters as well.";
    5 "A tensor of f32 does not combine with a parameter of another dtype or shape. A number does: `grad * lr`.";
    6 "The parameter is set to lr·g; subtract that from the parameter.";
    7 "The parameter is multiplied by the learning rate as well: w − lr·g, not lr·(w − g).";
};
