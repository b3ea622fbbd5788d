use canopy::optim::LarsConfig;
use grader::{Draw, Verdict, draw};

use super::steps::{Steps, VECTORS, WEIGHTS, norm};
use crate::Lesson07;

/// Settings with momentum, so that what enters the velocity and when makes a difference.
fn settings(draw: &mut Draw, weight_decay: f64) -> LarsConfig {
    LarsConfig {
        momentum: draw.number(0.5, 0.8),
        weight_decay,
        trust: draw.number(0.01, 0.05),
        vectors: false,
    }
}

pub fn scales_the_step_by_the_trust_ratio(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.0);
    check(answer, &mut draw, &[0.8, 0.8], &config, &WEIGHTS)
}

pub fn takes_plain_steps_for_vectors(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.25);
    check(answer, &mut draw, &[0.3, 0.3], &config, &VECTORS)
}

pub fn includes_the_decay_in_the_ratio(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let decay = draw.number(0.2, 0.4);
    let config = settings(&mut draw, decay);
    check(answer, &mut draw, &[0.8, 0.8], &config, &WEIGHTS)
}

pub fn keeps_the_rate_in_the_velocity(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.0);
    check(answer, &mut draw, &[0.8, 0.4, 0.1], &config, &WEIGHTS)
}

pub fn has_trust_ratio_1_for_zero_norms(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.1);
    let zero = [(None, 0), (Some(0), 1), (None, 3), (Some(0), 3)];
    let steps = Steps::new(&mut draw, 1, &zero)?;
    let more = ", weights 1 and 4 and gradients 2 and 4 are 0";
    run(answer, &steps, &[0.3], &config, &WEIGHTS, more)
}

pub fn keeps_velocity_and_decay_without_gradient(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.1);
    let zero = [(Some(1), 0), (Some(1), 1), (Some(1), 3)];
    let steps = Steps::new(&mut draw, 2, &zero)?;
    let more = ", gradients are 0 in the second step";
    run(answer, &steps, &[0.3, 0.3], &config, &WEIGHTS, more)
}

pub fn accepts_tiny_gradients(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.0);
    let steps = Steps::new(&mut draw, 2, &[])?.shrunk(0.5f64.powi(40))?;
    run(answer, &steps, &[0.8, 0.8], &config, &WEIGHTS, "")
}

pub fn scales_tiny_weights(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = settings(&mut draw, 0.0);
    let steps = Steps::new(&mut draw, 1, &[])?.light(0.5f64.powi(40))?;
    run(answer, &steps, &[0.8], &config, &WEIGHTS, "")
}

pub fn scales_vectors_if_configured(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = LarsConfig {
        vectors: true,
        ..settings(&mut draw, 0.3)
    };
    check(answer, &mut draw, &[0.8, 0.8], &config, &[2, 4, 0])
}

fn check(answer: &Lesson07, draw: &mut Draw, rates: &[f64], config: &LarsConfig, which: &[usize]) -> Verdict {
    let steps = Steps::new(draw, rates.len(), &[])?;
    run(answer, &steps, rates, config, which, "")
}

fn run(
    answer: &Lesson07,
    steps: &Steps,
    rates: &[f64],
    config: &LarsConfig,
    which: &[usize],
    more: &str,
) -> Verdict {
    let shown: Vec<String> = rates.iter().map(|&r| grader::number(r)).collect();
    let settings = format!(
        "lr {}, momentum {:.3}, weight_decay {:.3}, trust {:.4}, vectors {}{more}",
        shown.join(" then "),
        config.momentum,
        config.weight_decay,
        config.trust,
        config.vectors
    );
    let case = steps.given(&settings, which[0]);
    let velocities = steps.zeros()?;
    for (grads, &lr) in steps.grads.iter().zip(rates) {
        (answer.lars_step)(&steps.params, grads, &velocities, lr, config)?;
    }
    let end = |w: &[f64], slopes: &[&[f64]], vector: bool| {
        let (mut w, mut v) = (w.to_vec(), vec![0.0; w.len()]);
        for (g, lr) in slopes.iter().zip(rates) {
            let plain = vector && !config.vectors;
            let decay = if plain { 0.0 } else { config.weight_decay };
            let (long, slope) = (norm(&w), norm(g));
            let ratio = if plain || long == 0.0 || slope == 0.0 {
                1.0
            } else {
                config.trust * long / (slope + decay * long)
            };
            for k in 0..w.len() {
                v[k] = config.momentum * v[k] + lr * ratio * (g[k] + decay * w[k]);
                w[k] -= v[k];
            }
        }
        (w, v)
    };
    steps.check(&case, "parameter", &steps.params, which, |w, s, vector| {
        end(w, s, vector).0
    })?;
    steps.check(&case, "velocity", &velocities, which, |w, s, vector| {
        end(w, s, vector).1
    })
}
