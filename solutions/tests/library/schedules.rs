//! Every schedule against PyTorch's or DeepSpeed's, step by step; `goldens/make_schedules.py` made the expected values.

use canopy::schedule::{
    Course, OneCycle, Rise, Schedule, Warmup, cosine_with_warmup, exponential, multi_step, range_test_linear,
    step_decay, warmup, warmup_cosine, warmup_decay,
};
use serde_json::Value;

use crate::assert_contains;

fn cases() -> Vec<Value> {
    let text = include_str!("../goldens/schedules.golden.json");
    serde_json::from_str(text).expect("the golden")
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// The learning rate of `step`, and the momentum if the schedule changes it.
fn ours(name: &str, step: u64, lr: f64, get: &dyn Fn(&str) -> f64, milestones: &[u64]) -> (f64, Option<f64>) {
    let whole = |key| get(key) as u64;
    let up = |rise| Warmup {
        steps: whole("warmup_num_steps"),
        rise,
    };
    let between = |rise| warmup(step, up(rise), get("warmup_min_lr"), get("warmup_max_lr"));
    let ramp = |staircase| {
        let (least, size) = (get("lr_range_test_min_lr"), whole("lr_range_test_step_size"));
        range_test_linear(step, least, size, get("lr_range_test_step_rate"), staircase)
    };
    let cycle = |cycle: OneCycle| {
        let (rate, momentum) = cycle.at(step).expect("within the cycle");
        (rate, Some(momentum))
    };
    let rate = match name {
        "step" => step_decay(step, whole("step_size"), get("gamma"), lr),
        "multi_step" => multi_step(step, milestones, get("gamma"), lr),
        "exponential" => exponential(step, get("gamma"), lr),
        "cosine" => cosine_with_warmup(step, 0, whole("T_max"), lr, get("eta_min")),
        "warmup_log" | "warmup_of_one" => between(Rise::Log),
        "warmup_linear" => between(Rise::Linear),
        "warmup_decay" => {
            let (least, greatest) = (get("warmup_min_lr"), get("warmup_max_lr"));
            warmup_decay(step, up(Rise::Log), whole("total_num_steps"), least, greatest)
        }
        "warmup_cosine" => {
            let (total, first) = (whole("total_num_steps"), get("warmup_min_ratio"));
            warmup_cosine(step, up(Rise::Log), total, lr, first, 1e-4)
        }
        "range_test" => ramp(false),
        "range_test_staircase" => ramp(true),
        "one_cycle" => return cycle(OneCycle::new(0.4, 40)),
        "one_cycle_linear" => {
            return cycle(OneCycle {
                course: Course::Linear,
                ..OneCycle::new(0.4, 40)
            });
        }
        "one_cycle_odd" => {
            return cycle(OneCycle {
                rising: get("pct_start"),
                first_divisor: get("div_factor"),
                last_divisor: get("final_div_factor"),
                least_momentum: get("base_momentum"),
                greatest_momentum: get("max_momentum"),
                ..OneCycle::new(get("max_lr"), whole("total_steps"))
            });
        }
        other => panic!("the golden holds a schedule that no test knows: {other}"),
    };
    (rate, None)
}

#[test]
fn every_schedule_matches_its_library_at_every_step() {
    let cases = cases();
    assert_eq!(cases.len(), 14);
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let settings = &case["settings"];
        let get = |key: &str| {
            settings[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{name}: no {key}"))
        };
        let milestones: Vec<u64> = settings["milestones"]
            .as_array()
            .map(|list| list.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default();
        let momenta = case.get("momenta").map(numbers);
        for (step, expected) in numbers(&case["rates"]).into_iter().enumerate() {
            let lr = case["lr"].as_f64().expect("a rate");
            let (rate, momentum) = ours(name, step as u64, lr, &get, &milestones);
            approx::assert_relative_eq!(rate, expected, max_relative = 1e-12, epsilon = 1e-15);
            if let (Some(momentum), Some(momenta)) = (momentum, &momenta) {
                approx::assert_relative_eq!(momentum, momenta[step], max_relative = 1e-12);
            }
        }
    }
}

#[test]
fn a_step_past_one_cycles_end_is_an_error() {
    let cycle = OneCycle::new(0.1, 10);
    assert!(cycle.at(9).is_ok());
    let error = cycle.at(10).expect_err("past the end").to_string();
    assert_contains(&error, &["step 10", "10 steps"]);
    for rising in [0.0, 0.1, 1.0] {
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
    }
}

/// DeepSpeed advances its schedule after a step, so a run's step t has the rate of the schedule's step t − 1.
#[test]
fn deepspeeds_schedules_by_name_match_it_at_every_step_of_a_run() {
    let cases = cases();
    let mut tested = 0;
    for case in &cases {
        let settings = &case["settings"];
        let get = |key: &str| settings[key].as_f64().unwrap_or_default();
        let (steps, total) = (get("warmup_num_steps"), get("total_num_steps"));
        let (least, greatest) = (get("warmup_min_lr"), get("warmup_max_lr"));
        let (test_steps, growth) = (get("lr_range_test_step_size"), get("lr_range_test_step_rate"));
        let (text, base) = match case["name"].as_str().expect("a name") {
            "warmup_log" | "warmup_of_one" => (format!("warmuplr:steps={steps}:min={least}"), greatest),
            "warmup_linear" => (
                format!("warmuplr:steps={steps}:min={least}:rise=linear"),
                greatest,
            ),
            "warmup_decay" => (
                format!("warmupdecaylr:steps={steps}:total={total}:min={least}"),
                greatest,
            ),
            "warmup_cosine" => (
                format!(
                    "warmupcosinelr:steps={steps}:total={total}:min={}",
                    get("warmup_min_ratio")
                ),
                case["lr"].as_f64().expect("a rate"),
            ),
            name @ ("range_test" | "range_test_staircase") => (
                format!(
                    "lrrangetest:steps={test_steps}:growth={growth}:stairs={}",
                    name == "range_test_staircase"
                ),
                get("lr_range_test_min_lr"),
            ),
            _ => continue,
        };
        let schedule: Schedule = text.parse().expect(&text);
        for (step, expected) in (1..).zip(numbers(&case["rates"])) {
            let rate = schedule.rate(step, [3, 40], 5.0, base).expect("a rate");
            approx::assert_relative_eq!(rate, expected, max_relative = 1e-12, epsilon = 1e-15);
        }
        tested += 1;
    }
    assert_eq!(tested, 7);
}
