//! Loss scaling against PyTorch's and DeepSpeed's, step by step. `goldens/make_scalers.py` created the reference.

use candle_core::{Device, Tensor};
use canopy::precision::{DeepSpeedScaler, DynamicScaler, GradScaler, LossScale};
use serde_json::Value;

fn golden() -> (Vec<bool>, Vec<Value>) {
    let text = include_str!("../goldens/scalers.golden.json");
    let mut whole: Value = serde_json::from_str(text).unwrap();
    let overflows = serde_json::from_value(whole["overflows"].take()).unwrap();
    (overflows, serde_json::from_value(whole["cases"].take()).unwrap())
}

fn gradients(overflow: bool) -> Vec<Tensor> {
    let last = if overflow { f32::INFINITY } else { 3.0 };
    let first = Tensor::new(&[1f32, -2.0], &Device::Cpu).unwrap();
    vec![first, Tensor::new(&[[0f32], [last]], &Device::Cpu).unwrap()]
}

#[test]
fn the_dynamic_scale_and_its_skipped_steps_match_pytorch() {
    let (overflows, cases) = golden();
    for case in cases.iter().filter(|c| c["rule"] == "pytorch") {
        let first = case["first"].as_f64().unwrap();
        let interval = case["interval"].as_u64().unwrap() as u32;
        let mut scaler = GradScaler::new(DynamicScaler::new(first, interval).unwrap());
        for (t, &overflow) in overflows.iter().enumerate() {
            let mut stepped = false;
            let taken = scaler.step(&mut gradients(overflow), |_| {
                stepped = true;
                Ok(())
            });
            assert_eq!(taken.unwrap(), stepped);
            assert_eq!(stepped, case["taken"][t].as_bool().unwrap(), "step {t}");
            scaler.update().unwrap();
            assert_eq!(scaler.scale(), case["scales"][t].as_f64().unwrap(), "step {t}");
        }
    }
}

#[test]
fn the_deepspeed_scale_and_its_errors_match_deepspeed() {
    let (overflows, cases) = golden();
    let mut ended = 0;
    for case in cases.iter().filter(|c| c["rule"] == "deepspeed") {
        let number = |key: &str| case[key].as_u64().unwrap();
        let least = case["least"].as_f64().unwrap();
        let mut rule = DeepSpeedScaler::new(
            number("power") as u32,
            number("window"),
            number("hysteresis") as u32,
            least,
        )
        .unwrap();
        for (t, expected) in case["scales"].as_array().unwrap().iter().enumerate() {
            match (rule.update(overflows[t]), expected.as_f64()) {
                (Ok(()), Some(scale)) => assert_eq!(rule.scale(), scale, "{case}, step {t}"),
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
fn each_method_is_called_once_per_step() {
    let mut scaler = GradScaler::new(DynamicScaler::default());
    let mut grads = gradients(false);
    assert!(scaler.update().is_err());
    scaler.unscale(&mut grads).unwrap();
    assert!(
        scaler
            .unscale(&mut grads)
            .unwrap_err()
            .to_string()
            .contains("already")
    );
    assert!(scaler.step(&mut grads, |_| Ok(())).unwrap());
    assert!(scaler.step(&mut grads, |_| Ok(())).is_err());
    scaler.update().unwrap();
    assert!(scaler.step(&mut grads, |_| Ok(())).unwrap());
}

#[test]
fn settings_out_of_range_are_refused() {
    assert!(DynamicScaler::new(0.0, 5).is_err());
    assert!(DynamicScaler::new(8.0, 0).is_err());
    assert!(DeepSpeedScaler::new(3, 5, 2, 16.0).is_err());
    assert!(DeepSpeedScaler::new(3, 5, 0, 1.0).is_err());
}
