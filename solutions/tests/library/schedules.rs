//! Every schedule against PyTorch's, step by step; `goldens/make_schedules.py` made the expected values.

use std::collections::HashMap;

use approx::assert_relative_eq;
use canopy::schedule::{OneCycle, Schedule, cosine_with_warmup, one_cycle};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    rates: Vec<f64>,
    #[serde(default)]
    momenta: Vec<f64>,
}

/// The cases of the golden by their names.
fn cases() -> HashMap<String, Case> {
    let text = include_str!("../goldens/schedules.golden.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    cases.into_iter().map(|case| (case.name.clone(), case)).collect()
}

#[test]
fn every_schedule_matches_its_library_at_every_step() {
    let cases = cases();
    for (name, form) in [
        ("step", "step:7:0.7"),
        ("multi_step", "multistep:3,11,12,30:0.1"),
        ("exponential", "exponential:0.93"),
    ] {
        let schedule: Schedule = form.parse().unwrap();
        for (step, &expected) in (0..).zip(&cases[name].rates) {
            let rate = schedule.rate(step, [1, 40], 0.0, 0.4).unwrap();
            assert_relative_eq!(rate, expected, max_relative = 1e-12, epsilon = 1e-15);
        }
    }
    for (step, &expected) in (0..).zip(&cases["cosine"].rates) {
        let rate = cosine_with_warmup(step, 0, 40, 0.4, 0.01);
        assert_relative_eq!(rate, expected, max_relative = 1e-12, epsilon = 1e-15);
    }
}

#[test]
fn one_cycle_matches_pytorch_and_has_no_step_past_its_end() {
    let odd = OneCycle {
        rising: 0.45,
        first_divisor: 10.0,
        last_divisor: 100.0,
        least_momentum: 0.8,
        greatest_momentum: 0.9,
        ..OneCycle::new(1.5, 23)
    };
    for (name, cycle) in [("one_cycle", OneCycle::new(0.4, 40)), ("one_cycle_odd", odd)] {
        let case = &cases()[name];
        for (step, expected) in (0..).zip(case.rates.iter().zip(&case.momenta)) {
            let (rate, momentum) = one_cycle(&cycle, step).unwrap();
            assert_relative_eq!(rate, expected.0, max_relative = 1e-12);
            assert_relative_eq!(momentum, expected.1, max_relative = 1e-12);
        }
    }
    let schedule: Schedule = "onecycle:1".parse().unwrap();
    let rate = |step| schedule.rate(step, [1, 10], 0.0, 0.1);
    assert!((0..10).all(|step| rate(step).unwrap().is_finite()));
    crate::assert_contains(&crate::error(rate(10)), &["step 10", "10 steps"]);
}
