use canopy::optim::{AdamConfig, AdamState};
use grader::{Case, Draw, Finding, Verdict, draw};

use super::steps::Steps;
use crate::Lesson01;

/// All that Adam has after some steps, for one number: w, m, v.
fn adam_by_hand(w: f64, slopes: &[f64], lr: f64, c: &AdamConfig) -> (f64, f64, f64) {
    let (mut w, mut m, mut v) = (w, 0.0, 0.0);
    for (t, g) in (1..).zip(slopes) {
        m = c.beta1 * m + (1.0 - c.beta1) * g;
        v = c.beta2 * v + (1.0 - c.beta2) * g * g;
        let corrected = (m / (1.0 - c.beta1.powi(t)), v / (1.0 - c.beta2.powi(t)));
        w -= lr * corrected.0 / (corrected.1.sqrt() + c.eps);
    }
    (w, m, v)
}

struct Ran {
    steps: Steps,
    case: Case,
    state: AdamState,
    config: AdamConfig,
}

fn run_adam(
    answer: &Lesson01,
    draw: &mut Draw,
    count: usize,
    lr: f64,
    config: AdamConfig,
) -> Result<Ran, Finding> {
    let steps = Steps::new(draw, count)?;
    let AdamConfig {
        beta1, beta2, eps, ..
    } = config;
    let case = steps.given(&format!("lr {lr}, β₁ {beta1:.4}, β₂ {beta2:.4}, ε {eps:e}"));
    let mut state = AdamState {
        step: 0,
        mean: steps.zeros()?,
        square: steps.zeros()?,
    };
    for grads in &steps.grads {
        (answer.adam_step)(&steps.params, grads, &mut state, lr, &config)?;
    }
    Ok(Ran {
        steps,
        case,
        state,
        config,
    })
}

fn drawn_config(draw: &mut Draw) -> AdamConfig {
    AdamConfig {
        beta1: draw.number(0.6, 0.8),
        beta2: draw.number(0.9, 0.95),
        ..AdamConfig::default()
    }
}

pub fn first_step_has_size_lr(answer: &Lesson01) -> Verdict {
    let ran = run_adam(answer, &mut draw(), 1, 0.125, AdamConfig::default())?;
    // m̂ is g and v̂ is g², so the first step is lr long whatever the gradient's size.
    let rule = |w: f64, g: &[f64]| w - 0.125 * g[0] / (g[0].abs() + 1e-8);
    ran.steps.check(&ran.case, "parameter", &ran.steps.params, rule)
}

pub fn corrects_the_bias_of_both_means(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (count, config) = (draw.whole(3, 5), drawn_config(&mut draw));
    let ran = run_adam(answer, &mut draw, count, 0.1, config)?;
    let rule = |w: f64, g: &[f64]| adam_by_hand(w, g, 0.1, &ran.config).0;
    ran.steps.check(&ran.case, "parameter", &ran.steps.params, rule)
}

pub fn stores_both_means(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = drawn_config(&mut draw);
    let ran = run_adam(answer, &mut draw, 2, 0.1, config)?;
    let mean = |w: f64, g: &[f64]| adam_by_hand(w, g, 0.1, &ran.config).1;
    ran.steps
        .check(&ran.case, "mean m of parameter", &ran.state.mean, mean)?;
    let square = |w: f64, g: &[f64]| adam_by_hand(w, g, 0.1, &ran.config).2;
    ran.steps
        .check(&ran.case, "mean square v of parameter", &ran.state.square, square)
}

pub fn counts_the_steps(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let count = draw.whole(2, 6);
    let ran = run_adam(answer, &mut draw, count, 0.1, AdamConfig::default())?;
    ran.case.close("state.step", ran.state.step, count as u64)
}

pub fn adds_epsilon_after_the_root(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = AdamConfig {
        eps: 0.5,
        ..drawn_config(&mut draw)
    };
    let ran = run_adam(answer, &mut draw, 3, 0.1, config)?;
    let rule = |w: f64, g: &[f64]| adam_by_hand(w, g, 0.1, &ran.config).0;
    ran.steps.check(&ran.case, "parameter", &ran.steps.params, rule)
}
