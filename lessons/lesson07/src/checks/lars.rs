use canopy::optim::LarsConfig;
use grader::{Draw, Verdict, draw};

use super::steps::{Steps, norm};
use crate::Lesson07;

const PLAIN: LarsConfig = LarsConfig {
    momentum: 0.0,
    weight_decay: 0.0,
    trust: 0.02,
    vectors: false,
};

pub fn scales_the_step_by_the_trust_ratio(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = LarsConfig {
        trust: draw.number(0.01, 0.05),
        ..PLAIN
    };
    check(answer, &mut draw, &[0.8], &config, &[0, 2])
}

pub fn takes_plain_steps_for_vectors(answer: &Lesson07) -> Verdict {
    let config = LarsConfig {
        momentum: 0.7,
        weight_decay: 0.05,
        ..PLAIN
    };
    check(answer, &mut draw(), &[0.3, 0.3], &config, &[1])
}

pub fn includes_the_decay_in_the_ratio(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = LarsConfig {
        weight_decay: draw.number(0.2, 0.4),
        ..PLAIN
    };
    check(answer, &mut draw, &[0.8], &config, &[0, 2])
}

pub fn keeps_the_rate_in_the_velocity(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let config = LarsConfig {
        momentum: draw.number(0.6, 0.9),
        ..PLAIN
    };
    check(answer, &mut draw, &[0.8, 0.4, 0.1], &config, &[0, 2])
}

pub fn has_trust_ratio_1_for_zero_norms(answer: &Lesson07) -> Verdict {
    let config = LarsConfig {
        weight_decay: 0.1,
        ..PLAIN
    };
    let mut draw = draw();
    let lr = draw.number(0.2, 0.5);
    let steps = Steps::new(&mut draw, 1, &[(false, 0), (true, 2)])?;
    run(
        answer,
        &steps,
        &[lr],
        &config,
        &[0, 2],
        ", weights 1 and gradient 3 are 0",
    )
}

pub fn scales_vectors_if_configured(answer: &Lesson07) -> Verdict {
    let config = LarsConfig {
        weight_decay: 0.1,
        vectors: true,
        ..PLAIN
    };
    check(answer, &mut draw(), &[0.8], &config, &[1, 0])
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
    let case = steps.given(&format!(
        "lr {}, momentum {:.3}, weight decay {:.3}, trust {:.4}, vectors {}{more}",
        rates
            .iter()
            .map(|r| format!("{r:.3}"))
            .collect::<Vec<_>>()
            .join(" then "),
        config.momentum,
        config.weight_decay,
        config.trust,
        config.vectors
    ));
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
