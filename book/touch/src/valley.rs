//! Steps of optimizers in a valley, a loss of two parameters (chapters 01 and 07).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    json,
    kernels::{AdamStep, adam, sgd},
    schedule::{OneCycle, cosine_with_warmup, one_cycle},
};

/// The curvature along each parameter: the loss is (x² + 20 y²)/2.
const CURVATURE: [f32; 2] = [1.0, 20.0];
const START: [f32; 2] = [-4.0, 1.5];
/// A loss that counts as divergence.
const TOO_LARGE: f32 = 1e4;

#[derive(Serialize)]
struct Walk {
    /// The parameters before each step, and after the last one.
    points: Vec<[f32; 2]>,
    losses: Vec<f32>,
    /// The learning rate of each step.
    rates: Vec<f64>,
    diverged: bool,
}

/// Returns the path of `steps` steps of `optimizer` ("sgd", "momentum" or "adam") with the peak learning rate `peak`. The
/// schedule is "cosine", "one-cycle", "range" (the rate grows from a thousandth of the peak) or "constant".
#[wasm_bindgen]
pub fn valley(optimizer: &str, schedule: &str, peak: f64, momentum: f64, steps: u32) -> String {
    json(&walk(optimizer, schedule, peak, momentum, u64::from(steps)))
}

fn walk(optimizer: &str, schedule: &str, peak: f64, momentum: f64, steps: u64) -> Walk {
    let mut w = START;
    let mut moments = [vec![0.0; 2], vec![0.0; 2]];
    let mut walk = Walk {
        points: vec![w],
        losses: vec![loss(w)],
        rates: Vec::new(),
        diverged: false,
    };
    for step in 0..steps {
        let lr = rate(schedule, peak, step, steps);
        let gradient = [CURVATURE[0] * w[0], CURVATURE[1] * w[1]];
        match optimizer {
            "adam" => {
                let settings = AdamStep {
                    lr,
                    beta1: momentum,
                    beta2: 0.999,
                    eps: 1e-8,
                    weight_decay: 0.0,
                    decoupled: false,
                    step: step + 1,
                };
                adam(&mut w, &gradient, &mut moments, &settings);
            }
            _ => {
                let momentum = if optimizer == "sgd" { 0.0 } else { momentum as f32 };
                sgd(&mut w, &gradient, &mut moments[0], lr as f32, momentum);
            }
        }
        walk.rates.push(lr);
        walk.points.push(w);
        walk.losses.push(loss(w));
        if loss(w).is_nan() || loss(w) > TOO_LARGE {
            walk.diverged = true;
            break;
        }
    }
    walk
}

fn loss(w: [f32; 2]) -> f32 {
    (CURVATURE[0] * w[0] * w[0] + CURVATURE[1] * w[1] * w[1]) / 2.0
}

fn rate(schedule: &str, peak: f64, step: u64, steps: u64) -> f64 {
    match schedule {
        "cosine" => cosine_with_warmup(step, steps / 10, steps, peak, 0.0),
        "one-cycle" => one_cycle(&OneCycle::new(peak, steps), step).map_or(0.0, |(lr, _)| lr),
        "range" => peak * 1e-3_f64.powf(1.0 - (step + 1) as f64 / steps as f64),
        _ => peak,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sgd_diverges_above_two_over_the_largest_curvature() {
        let end = |lr| walk("sgd", "constant", lr, 0.0, 300);
        assert!(end(0.099).losses.last() < Some(&1e-3) && !end(0.099).diverged);
        assert!(end(0.101).losses.last() > Some(&loss(START)));
    }

    #[test]
    fn every_optimizer_and_schedule_ends_lower() {
        for optimizer in ["sgd", "momentum", "adam"] {
            for schedule in ["constant", "cosine", "one-cycle"] {
                let walk = walk(optimizer, schedule, 0.05, 0.9, 200);
                assert!(walk.losses[200] < 0.1 * walk.losses[0], "{optimizer} {schedule}");
            }
        }
        let range = walk("sgd", "range", 1.0, 0.0, 200);
        assert!(range.diverged && range.rates[0] < 1.1e-3);
    }
}
