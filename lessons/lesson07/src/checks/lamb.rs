use canopy::optim::{AdamState, LambConfig};
use grader::{Draw, Verdict, draw};

use super::steps::{Steps, norm};
use crate::Lesson07;

fn config(draw: &mut Draw, weight_decay: f64) -> LambConfig {
    LambConfig {
        beta1: draw.number(0.6, 0.8),
        beta2: draw.number(0.85, 0.95),
        eps: 0.05,
        weight_decay,
    }
}

/// With decay: without it, a factor of the whole direction would not be seen, because r is divided by its norm.
pub fn scales_the_step_by_the_norm_ratio(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.3);
    check(answer, &mut draw, 2, &config, &[], &[0, 1, 3])
}

pub fn corrects_the_bias_of_both_means(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.0);
    check(answer, &mut draw, 2, &config, &[], &[0, 1, 3])
}

pub fn includes_the_decay_in_the_direction(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.5);
    check(answer, &mut draw, 1, &config, &[], &[0, 1, 3])
}

pub fn treats_all_shapes_alike(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.3);
    check(answer, &mut draw, 2, &config, &[], &[2, 4])
}

pub fn stores_both_means(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.1);
    check(answer, &mut draw, 4, &config, &[], &[0, 1, 2, 3, 4])
}

pub fn has_norm_ratio_1_for_zero_norms(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.0);
    let zero = [(None, 0), (Some(0), 1), (None, 3), (Some(0), 3)];
    check(answer, &mut draw, 1, &config, &zero, &[0, 1, 3])
}

pub fn accepts_short_directions(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.0);
    // Far below ε, r is short as well.
    let steps = Steps::new(&mut draw, 2, &[])?.shrunk(0.5f64.powi(40))?;
    run(answer, &steps, &config, &[0, 1, 3], "")
}

pub fn accepts_tiny_weights(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = config(&mut draw, 0.0);
    let steps = Steps::new(&mut draw, 1, &[])?.light(0.5f64.powi(40))?;
    run(answer, &steps, &config, &[0, 1, 3], "")
}

fn check(
    answer: &Lesson07,
    draw: &mut Draw,
    count: usize,
    config: &LambConfig,
    zero: &[(Option<usize>, usize)],
    which: &[usize],
) -> Verdict {
    let steps = Steps::new(draw, count, zero)?;
    let more = match zero {
        [] => "",
        _ => ", weights 1 and 4 and gradients 2 and 4 are 0",
    };
    run(answer, &steps, config, which, more)
}

fn run(answer: &Lesson07, steps: &Steps, config: &LambConfig, which: &[usize], more: &str) -> Verdict {
    let lr = 0.05;
    let case = format!(
        "lr {lr}, betas {:.3} and {:.3}, eps {}, weight_decay {}{more}",
        config.beta1, config.beta2, config.eps, config.weight_decay
    );
    let case = steps.given(&case, which[0]);
    let state = AdamState::zeros_like(steps.params.iter());
    let mut state = state.map_err(|e| candle_core::Error::Msg(format!("{e:#}")))?;
    for grads in &steps.grads {
        (answer.lamb_step)(&steps.params, grads, &mut state, lr, config)?;
    }
    let end = |w: &[f64], slopes: &[&[f64]]| lamb_steps(w, slopes, lr, config);
    steps.check(&case, "parameter", &steps.params, which, |w, s, _| end(w, s).0)?;
    steps.check(&case, "mean", &state.mean, which, |w, s, _| end(w, s).1)?;
    steps.check(&case, "square", &state.square, which, |w, s, _| end(w, s).2)?;
    case.close("state.step", state.step, steps.grads.len() as u64)
}

/// Weights, means and squares after all steps.
fn lamb_steps(w: &[f64], slopes: &[&[f64]], lr: f64, c: &LambConfig) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut w = w.to_vec();
    let (mut m, mut v) = (vec![0.0; w.len()], vec![0.0; w.len()]);
    for (t, g) in (1..).zip(slopes) {
        let mut r = vec![0.0; w.len()];
        for k in 0..w.len() {
            m[k] = c.beta1 * m[k] + (1.0 - c.beta1) * g[k];
            v[k] = c.beta2 * v[k] + (1.0 - c.beta2) * g[k] * g[k];
            let root = (v[k] / (1.0 - c.beta2.powi(t))).sqrt();
            r[k] = m[k] / (1.0 - c.beta1.powi(t)) / (root + c.eps) + c.weight_decay * w[k];
        }
        let (long, short) = (norm(&w), norm(&r));
        let ratio = if long == 0.0 || short == 0.0 {
            1.0
        } else {
            long / short
        };
        for k in 0..w.len() {
            w[k] -= lr * ratio * r[k];
        }
    }
    (w, m, v)
}
