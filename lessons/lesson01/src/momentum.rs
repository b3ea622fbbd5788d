//! 1.4: a step with momentum.

use grader::{Check, Mistake, Verdict, mistakes, rows};
use kit::shown;

use crate::{
    Lesson01, REFERENCE, answers,
    steps::{ALIKE, DTYPES, SHAPES, Steps},
};

fn stepped(answer: &Lesson01, steps: Steps) -> Verdict {
    let (rates, momenta) = (&steps.rates, &steps.momenta);
    steps.compare(
        &format!(", momentum {}", shown(momenta)),
        &["velocity"],
        &|params, grads, state, k| (answer.momentum_step)(params, grads, &state.mean, rates[k], momenta[k]),
        &|params, grads, state, k| {
            answers::momentum_step::<0>(params, grads, &state.mean, rates[k], momenta[k])
        },
    )
}

pub const CHECKS: &[Check<Lesson01>] = rows! { "1.4";
    by stepped {
        first_step_is_plain_sgd: "v ← μ·v + g, then w ← w − lr·v",
            "From a velocity of 0, the first step of each parameter is w − lr·g, by its own g: μ multiplies the old v alone." => |d| vec![
                Steps::new(d, &ALIKE[..1], &[0.25]).parameters_only(),
                Steps::new(d, &ALIKE, &[0.25]).parameters_only(),
            ];
        accumulates_velocity: "v ← μ·v + g", "v ← μ·v + g, stored with `set`: the next step continues from it." => |d| {
            let momentum = (d.number(0.5, 0.8) * 1e3).round() / 1e3;
            vec![Steps::new(d, &ALIKE, &[0.2; 3]).momenta(&[momentum; 3]).parameters_only()]
        };
        stores_the_velocity: "v ← μ·v + g", "Store v itself: neither −v, nor μ·v, nor the gradient." => |d| vec![
            Steps::new(d, &ALIKE, &[0.1; 2]).momenta(&[0.75; 2]).state_only(),
            Steps::new(d, &SHAPES, &[0.1; 5]),
        ];
        excludes_the_learning_rate_from_the_velocity: "v ← μ·v + g, then w ← w − lr·v",
            "lr belongs to the step of the parameter alone: the velocity has no factor lr, and changes also if lr is 0." => |d| {
            let lr = (d.number(0.1, 0.2) * 1e3).round() / 1e3;
            vec![Steps::new(d, &ALIKE, &[lr, lr / 10.0, lr / 100.0]), Steps::new(d, &ALIKE, &[lr, 0.0, lr])]
        };
        moves_on_without_a_gradient: "for each parameter w",
            "Every step updates velocities and parameters, also with a gradient of 0, and for any number of parameters." => |d| vec![
                Steps::new(d, &SHAPES, &[0.5]),
                Steps::new(d, &SHAPES, &[0.5; 3]).gradient(1, 0, 0.0),
                Steps::new(d, &SHAPES, &[0.5; 3]).gradient(1, 1, 0.0),
                Steps::new(d, &SHAPES, &[0.5; 3]).gradient(1, 2, 0.0),
                Steps::new(d, &SHAPES, &[0.5; 2]).gradient(0, 0, 0.0),
                Steps::new(d, &[], &[0.5]),
            ];
        uses_the_current_momentum: "v ← μ·v + g", "Use the `momentum` of this call; also with 0, the new velocity is stored." => |d| vec![
            Steps::new(d, &ALIKE, &[0.1; 4]).momenta(&[0.9, 0.0, 0.5, 1.0]),
            Steps::new(d, &ALIKE, &[0.1; 2]).momenta(&[0.0; 2]),
        ];
        keeps_the_dtype_of_the_velocity: "Dtypes are as in 1.3",
            "Do not convert a tensor of f64, or a factor, to f32." => |d| vec![
                Steps::new(d, &DTYPES, &[0.125; 2]).momenta(&[0.5; 2]).size(1e40),
                Steps::new(d, &DTYPES[1..2], &[0.1; 3]),
            ];
    }
};

pub const MISTAKES: &[Mistake<Lesson01>] = mistakes! { "1.4" momentum_step;
    1 "μ is always 0.9; use `momentum`.";
    2 "A gradient of 0 skips the parameter, or ends the function; the velocity still moves the parameter, and falls.";
    3 "The gradient is multiplied by 1−μ (that is dampening); here it is added as it is.";
    4 "μ multiplies the new gradient as well: μ·v + g, not μ·(v + g).";
    5 "The old velocity is not multiplied by μ.";
    6 "The learning rate is inside the velocity; it belongs to the step of the parameter.";
    7 "The gradient is subtracted from the velocity, and the velocity from the parameter, which goes uphill: v ← μ·v + g.";
    8 "The velocity stays 0: store the new one, μ·v + g, with `set`, for each parameter and in the first step too. A new `Var` is another variable.";
    9 "The parameter moves by μ·v + g with the new v: that is Nesterov's momentum. Here it moves by v.";
    10 "The velocity is updated, but the parameter moves by the gradient alone: w − lr·v.";
    11 "The parameter moves by the old velocity: update the velocity first, then the parameter.";
};
