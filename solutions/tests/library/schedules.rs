//! Every schedule against PyTorch's or DeepSpeed's, step by step; `goldens/make_schedules.py` made the expected values.

use canopy::schedule::{Course, OneCycle, Schedule, cosine_with_warmup};
use serde_json::Value;

use crate::assert_contains;

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).expect("a list of numbers")
}

/// PyTorch's one cycle with the settings of a case.
fn cycle(name: &str, get: &dyn Fn(&str) -> f64) -> OneCycle {
    let usual = OneCycle::new(0.4, 40);
    match name {
        "one_cycle" => usual,
        "one_cycle_linear" => OneCycle {
            course: Course::Linear,
            ..usual
        },
        _ => OneCycle {
            rising: get("pct_start"),
            first_divisor: get("div_factor"),
            last_divisor: get("final_div_factor"),
            least_momentum: get("base_momentum"),
            greatest_momentum: get("max_momentum"),
            ..OneCycle::new(get("max_lr"), get("total_steps") as u64)
        },
    }
}

/// DeepSpeed advances its schedule after a step, so a run's step t has the rate of the schedule's step t − 1.
#[test]
fn every_schedule_matches_its_library_at_every_step() {
    let text = include_str!("../goldens/schedules.golden.json");
    let cases: Vec<Value> = serde_json::from_str(text).expect("the golden");
    assert_eq!(cases.len(), 14);
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let get = |key: &str| case["settings"][key].as_f64().unwrap_or_default();
        let lr = case["lr"].as_f64().expect("a rate");
        let (up, total) = (get("warmup_num_steps"), get("total_num_steps"));
        let (least, greatest) = (get("warmup_min_lr"), get("warmup_max_lr"));
        let test = format!(
            "lrrangetest:steps={}:growth={}",
            get("lr_range_test_step_size"),
            get("lr_range_test_step_rate")
        );
        let (form, base, first) = match name {
            "step" => (format!("step:{}:{}", get("step_size"), get("gamma")), lr, 0),
            "multi_step" => (format!("multistep:3,11,12,30:{}", get("gamma")), lr, 0),
            "exponential" => (format!("exponential:{}", get("gamma")), lr, 0),
            "warmup_log" | "warmup_of_one" => (format!("warmuplr:steps={up}:min={least}"), greatest, 1),
            "warmup_linear" => (
                format!("warmuplr:steps={up}:min={least}:rise=linear"),
                greatest,
                1,
            ),
            "warmup_decay" => (
                format!("warmupdecaylr:steps={up}:total={total}:min={least}"),
                greatest,
                1,
            ),
            "warmup_cosine" => (
                format!(
                    "warmupcosinelr:steps={up}:total={total}:min={}",
                    get("warmup_min_ratio")
                ),
                lr,
                1,
            ),
            "range_test" => (test, get("lr_range_test_min_lr"), 1),
            "range_test_staircase" => (format!("{test}:stairs=true"), get("lr_range_test_min_lr"), 1),
            _ => ("constant".into(), 0.0, 0),
        };
        let schedule: Schedule = form.parse().expect(&form);
        for (step, expected) in (first..).zip(numbers(&case["rates"])) {
            let rate = match name {
                "cosine" => cosine_with_warmup(step, 0, get("T_max") as u64, lr, get("eta_min")),
                _ if name.starts_with("one_cycle") => {
                    let (rate, momentum) = cycle(name, &get).at(step).expect("within the cycle");
                    let expected = numbers(&case["momenta"])[step as usize];
                    approx::assert_relative_eq!(momentum, expected, max_relative = 1e-12);
                    rate
                }
                _ => schedule.rate(step, [1, 40], 0.0, base).expect("a rate"),
            };
            approx::assert_relative_eq!(rate, expected, max_relative = 1e-12, epsilon = 1e-15);
        }
    }
}

#[test]
fn a_step_past_one_cycles_end_is_an_error() {
    for rising in [0.0, 0.1, 0.3, 1.0] {
        let cycle = OneCycle {
            rising,
            ..OneCycle::new(0.1, 10)
        };
        for step in 0..10 {
            let (rate, momentum) = cycle.at(step).expect("within the cycle");
            assert!(
                rate.is_finite() && momentum.is_finite(),
                "rising {rising}, step {step}"
            );
        }
        let error = cycle.at(10).expect_err("past the end").to_string();
        assert_contains(&error, &["step 10", "10 steps"]);
    }
}
