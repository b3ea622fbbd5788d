//! Loss scaling against PyTorch's and DeepSpeed's, step by step. `goldens/make_scalers.py` created the reference.

use canopy::precision::{DeepSpeedScaler, DynamicScaler, LossScale};
use serde_json::Value;

#[test]
fn the_scale_and_its_errors_match_pytorch_and_deepspeed() {
    let golden: Value = serde_json::from_str(include_str!("../goldens/scalers.golden.json")).unwrap();
    let overflows: Vec<bool> = serde_json::from_value(golden["overflows"].clone()).unwrap();
    let mut ended = 0;
    for case in golden["cases"].as_array().unwrap() {
        let number = |key: &str| case[key].as_f64().unwrap();
        let mut rule: Box<dyn LossScale> = match case["rule"].as_str().unwrap() {
            "pytorch" => Box::new(DynamicScaler::new(number("first"), number("interval") as u32).unwrap()),
            _ => {
                let (power, hysteresis) = (number("power") as u32, number("hysteresis") as u32);
                let window = number("window") as u64;
                Box::new(DeepSpeedScaler::new(power, window, hysteresis, number("least")).unwrap())
            }
        };
        for (&overflow, expected) in overflows.iter().zip(case["scales"].as_array().unwrap()) {
            match (rule.update(overflow), expected.as_f64()) {
                (Ok(()), Some(scale)) => assert_eq!(rule.scale(), scale, "{case}"),
                (Err(error), None) => {
                    ended += 1;
                    assert!(error.to_string().contains("minimum scale"), "{error}");
                }
                (got, expected) => panic!("{case}: got {got:?}, expected {expected:?}"),
            }
        }
    }
    assert!(ended > 0, "no case of the golden reaches the minimum scale");
}

#[test]
fn settings_out_of_range_are_refused() {
    assert!(DynamicScaler::new(0.0, 5).is_err());
    assert!(DynamicScaler::new(8.0, 0).is_err());
    assert!(DeepSpeedScaler::new(3, 5, 2, 16.0).is_err());
    assert!(DeepSpeedScaler::new(3, 5, 0, 1.0).is_err());
}
