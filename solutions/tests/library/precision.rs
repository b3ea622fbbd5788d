//! Loss scaling against PyTorch's and DeepSpeed's, step by step. `goldens/make_scalers.py` created the reference.

use candle_core::{Device, Tensor};
use canopy::precision::{DeepSpeedScaler, DynamicScaler, GradScaler, LossScale};
use serde_json::Value;

#[test]
fn the_scale_its_skipped_steps_and_its_errors_match_pytorch_and_deepspeed() {
    let golden: Value = serde_json::from_str(include_str!("../goldens/scalers.golden.json")).unwrap();
    let overflows: Vec<bool> = serde_json::from_value(golden["overflows"].clone()).unwrap();
    let loss = Tensor::new(1f32, &Device::Cpu).unwrap();
    let mut ended = 0;
    for case in golden["cases"].as_array().unwrap() {
        let number = |key: &str| case[key].as_u64().unwrap();
        let mut scaler: Box<GradScaler<dyn LossScale>> = match case["rule"].as_str().unwrap() {
            "pytorch" => {
                let first = case["first"].as_f64().unwrap();
                let rule = DynamicScaler::new(first, number("interval") as u32);
                Box::new(GradScaler::new(rule.unwrap()))
            }
            _ => {
                let (power, hysteresis) = (number("power") as u32, number("hysteresis") as u32);
                let least = case["least"].as_f64().unwrap();
                let rule = DeepSpeedScaler::new(power, number("window"), hysteresis, least);
                Box::new(GradScaler::new(rule.unwrap()))
            }
        };
        for (t, expected) in case["scales"].as_array().unwrap().iter().enumerate() {
            let last = if overflows[t] { f32::INFINITY } else { 3.0 };
            let mut backward = |_: &Tensor| Ok(vec![Tensor::new(&[1f32, last], &Device::Cpu)?]);
            scaler.gradients(&loss, &mut backward).unwrap();
            match (scaler.step(|| Ok(())), expected.as_f64()) {
                (Ok(taken), Some(scale)) => {
                    assert_eq!(
                        (scaler.scale(), taken),
                        (scale, !overflows[t]),
                        "{case}, step {t}"
                    );
                    assert!(case["taken"].is_null() || case["taken"][t] == taken);
                }
                (Err(error), None) => {
                    ended += 1;
                    assert!(error.to_string().contains("minimum scale"), "{error}");
                }
                (got, expected) => panic!("{case}, step {t}: got {got:?}, expected {expected:?}"),
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
