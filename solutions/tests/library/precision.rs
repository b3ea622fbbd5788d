//! Loss scaling against PyTorch's, step by step. `goldens/make_scalers.py` created the reference.

use canopy::precision::{DynamicScaler, LossScale};
use serde_json::Value;

#[test]
fn the_scale_matches_pytorch() {
    let golden: Value = serde_json::from_str(include_str!("../goldens/scalers.golden.json")).unwrap();
    let overflows: Vec<bool> = serde_json::from_value(golden["overflows"].clone()).unwrap();
    for case in golden["cases"].as_array().unwrap() {
        let number = |key: &str| case[key].as_f64().unwrap();
        let mut rule = DynamicScaler::new(number("first"), number("interval") as u32).unwrap();
        for (&overflow, expected) in overflows.iter().zip(case["scales"].as_array().unwrap()) {
            rule.update(overflow).unwrap();
            assert_eq!(rule.scale(), expected.as_f64().unwrap(), "{case}");
        }
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    for (scale, interval) in [(0.0, 5), (8.0, 0), (f64::INFINITY, 5), (f64::NAN, 5)] {
        assert!(DynamicScaler::new(scale, interval).is_err());
    }
}
