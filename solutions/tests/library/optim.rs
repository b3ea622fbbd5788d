//! Optimizers continue bit-identically from a saved state and return errors for what does not fit; gradient clipping.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor, Var};
use canopy::optim::{
    AdamConfig, AdamState, AdamWConfig, LambConfig, LarsConfig, OptimConfig, SgdConfig, adam_step,
    clip_grad_norm, lamb_step, lars_step, momentum_step, sgd_step,
};
use canopy_data::Philox;
use proptest::prelude::*;

use crate::{assert_contains, error, values};

type Params = Vec<(String, Var)>;

fn random(shape: &[usize], seed: u64, scale: f32) -> Tensor {
    let mut random = Philox::new(seed, 1);
    let values: Vec<f32> = (0..shape.iter().product::<usize>())
        .map(|_| scale * random.normal() as f32)
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn params(seed: u64) -> Params {
    let var = |i, shape: &[usize]| Var::from_tensor(&random(shape, seed + i, 1.0)).unwrap();
    vec![("a".into(), var(0, &[4, 3])), ("b".into(), var(1, &[5]))]
}

fn grads(seed: u64) -> Vec<Tensor> {
    vec![random(&[4, 3], seed + 50, 0.1), random(&[5], seed + 51, 3.0)]
}

fn bits(params: &Params) -> Vec<u32> {
    let values = |(_, v): &(String, Var)| v.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    params.iter().flat_map(values).map(f32::to_bits).collect()
}

fn all() -> Vec<OptimConfig> {
    let still = SgdConfig {
        momentum: 0.0,
        ..SgdConfig::default()
    };
    let nesterov = SgdConfig {
        nesterov: true,
        weight_decay: 0.01,
        ..SgdConfig::default()
    };
    vec![
        OptimConfig::sgd(),
        OptimConfig::Sgd(still),
        OptimConfig::Sgd(nesterov),
        OptimConfig::adam(),
        OptimConfig::adamw(),
    ]
}

#[test]
fn long_and_strided_gradients_take_the_step_of_short_ones() {
    // Long gradients are split among threads. Strided ones take the path of candle's operators instead of the kernel.
    let values = random(&[300, 200], 4, 1.0);
    let grad = random(&[300, 200], 5, 1.0);
    for config in all() {
        let stepped = |grad: Tensor| {
            let w = Var::from_tensor(&values).unwrap();
            let mut optimizer = config.build(vec![("w".into(), w.clone())]).unwrap();
            for _ in 0..3 {
                optimizer.step(std::slice::from_ref(&grad), 0.1).unwrap();
            }
            w.flatten_all().unwrap().to_vec1::<f32>().unwrap()
        };
        let strided = grad.t().unwrap().contiguous().unwrap().t().unwrap();
        assert!(!strided.is_contiguous());
        for (a, b) in stepped(grad.clone()).iter().zip(stepped(strided)) {
            assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{config:?}: {a} and {b}");
        }
        let short = Var::from_tensor(&values.narrow(0, 299, 1).unwrap().contiguous().unwrap()).unwrap();
        let mut optimizer = config.build(vec![("w".into(), short.clone())]).unwrap();
        let last = grad.narrow(0, 299, 1).unwrap();
        for _ in 0..3 {
            optimizer.step(std::slice::from_ref(&last), 0.1).unwrap();
        }
        let short = short.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(stepped(grad.clone())[299 * 200..], short[..], "{config:?}");
    }
}

#[test]
fn training_continues_bit_identically_from_a_saved_state() {
    let more = ["lars", "lamb", "adagrad", "rmsprop", "adadelta"].map(|kind| format!("kind = \"{kind}\""));
    let more = more.iter().map(|text| toml::from_str(text).unwrap());
    for config in all().into_iter().chain(more) {
        let unbroken = params(1);
        let mut optimizer = config.build(unbroken.clone()).unwrap();
        for step in 0..3 {
            optimizer.step(&grads(step), 0.01).unwrap();
        }
        let middle: Params = unbroken
            .iter()
            .map(|(name, v)| (name.clone(), Var::from_tensor(&v.copy().unwrap()).unwrap()))
            .collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        let state: HashMap<_, _> = optimizer.state().unwrap().into_iter().collect();
        for step in 3..6 {
            optimizer.step(&grads(step), 0.01).unwrap();
        }
        // Written after the steps, so that a state that shared memory with the optimizer would be wrong here.
        candle_core::safetensors::save(&state, file.path()).unwrap();

        let mut resumed = config.build(middle.clone()).unwrap();
        let read = candle_core::safetensors::load(file.path(), &Device::Cpu).unwrap();
        resumed.load_state(&read).unwrap();
        for step in 3..6 {
            resumed.step(&grads(step), 0.01).unwrap();
        }
        assert_eq!(bits(&unbroken), bits(&middle), "{config:?}");
    }
}

#[test]
fn optimizers_take_the_steps_of_their_functions() {
    let vars = |params: &Params| params.iter().map(|(_, var)| var.clone()).collect::<Vec<_>>();
    let zeros = |params: &Params| -> Vec<Var> {
        let zero = |(_, p): &(String, Var)| Var::zeros(p.shape(), p.dtype(), p.device()).unwrap();
        params.iter().map(zero).collect()
    };
    let sgd = |momentum| {
        OptimConfig::Sgd(SgdConfig {
            momentum,
            ..SgdConfig::default()
        })
    };
    let (lars, lamb) = (LarsConfig::default(), LambConfig::default());
    let layerwise = [OptimConfig::Lars(lars.clone()), OptimConfig::Lamb(lamb.clone())];
    let configs = [sgd(0.0), sgd(0.8), OptimConfig::adam(), OptimConfig::adamw()];
    let configs: Vec<OptimConfig> = configs.into_iter().chain(layerwise).collect();
    for (kind, config) in configs.iter().enumerate() {
        let (own, theirs) = (params(1), params(1));
        let mut optimizer = config.build(theirs.clone()).unwrap();
        let velocities = zeros(&own);
        let mut state = AdamState::zeros_like(&velocities).unwrap();
        for step in 0..4 {
            let grads = grads(step);
            optimizer.step(&grads, 0.01).unwrap();
            let own = vars(&own);
            match kind {
                0 => sgd_step(&own, &grads, 0.01),
                1 => momentum_step(&own, &grads, &velocities, 0.01, 0.8),
                2 => adam_step(&own, &grads, &mut state, 0.01, &AdamConfig::default()),
                3 => adam_step(&own, &grads, &mut state, 0.01, &AdamWConfig::default().into()),
                4 => lars_step(&own, &grads, &velocities, 0.01, &lars),
                _ => lamb_step(&own, &grads, &mut state, 0.01, &lamb),
            }
            .unwrap();
        }
        assert_eq!(bits(&own), bits(&theirs), "{config:?}");
    }
}

#[test]
fn a_state_that_does_not_fit_is_an_error_and_changes_nothing() {
    let trained = |config: &OptimConfig| {
        let mut optimizer = config.build(params(1)).unwrap();
        optimizer.step(&grads(1), 0.1).unwrap();
        optimizer
    };
    let mut adam = trained(&OptimConfig::adam());
    let own: HashMap<_, _> = adam.state().unwrap().into_iter().collect();
    let mut refuse = |state: HashMap<String, Tensor>, words: &[&str]| {
        assert_contains(&error(adam.load_state(&state)), words);
        for (name, tensor) in adam.state().unwrap() {
            assert_eq!(values(&tensor), values(&own[&name]), "{name}");
        }
    };
    let sgd = trained(&OptimConfig::sgd()).state().unwrap();
    refuse(
        sgd.into_iter().collect(),
        &["exp_avg.a", "missing", "another optimizer"],
    );
    let with = |name: &str, tensor: Tensor| {
        let mut state = own.clone();
        state.insert(name.to_owned(), tensor);
        state
    };
    let odd = random(&[3, 4], 1, 1.0);
    refuse(
        with("exp_avg_sq.a", odd.clone()),
        &["exp_avg_sq.a", "[4, 3]", "[3, 4]"],
    );
    let double = random(&[5], 1, 1.0).to_dtype(DType::F64).unwrap();
    refuse(with("exp_avg.b", double), &["exp_avg.b", "F32", "F64"]);
    refuse(with("exp_avg.c", odd.clone()), &["expected 5 tensors, got 6"]);
    refuse(with("step", odd), &["step"]);
    refuse(
        with("step", Tensor::new(-1i64, &Device::Cpu).unwrap()),
        &["step", "negative"],
    );
    let mut without = own.clone();
    without.remove("step");
    refuse(without, &["step", "missing"]);
}

#[test]
fn gradients_that_do_not_fit_are_errors_and_change_nothing() {
    for config in all() {
        let params = params(1);
        let before = bits(&params);
        let mut optimizer = config.build(params.clone()).unwrap();
        let said = error(optimizer.step(&grads(1)[..1], 0.1));
        assert_contains(&said, &["expected 2 gradients", "got 1"]);
        let swapped = [grads(1)[0].clone(), grads(1)[0].clone()];
        let said = error(optimizer.step(&swapped, 0.1));
        assert_contains(&said, &["gradient of b", "[5]"]);
        assert_eq!(before, bits(&params));
    }
}

#[test]
fn settings_out_of_range_are_errors() {
    let sgd = |momentum, nesterov| {
        OptimConfig::Sgd(SgdConfig {
            momentum,
            nesterov,
            weight_decay: 0.0,
        })
    };
    let adam = |beta1, eps| {
        OptimConfig::AdamW(AdamWConfig {
            beta1,
            eps,
            ..AdamWConfig::default()
        })
    };
    let lars = |momentum, trust, weight_decay| {
        OptimConfig::Lars(LarsConfig {
            momentum,
            trust,
            weight_decay,
            ..LarsConfig::default()
        })
    };
    let lamb = LambConfig {
        beta2: 1.0,
        ..LambConfig::default()
    };
    for (config, word) in [
        (lars(1.0, 0.001, 0.0), "momentum"),
        (lars(0.9, 0.0, 0.0), "trust"),
        (lars(0.9, 0.001, f64::NAN), "weight"),
        (OptimConfig::Lamb(lamb), "beta2"),
        (sgd(1.0, false), "momentum"),
        (sgd(0.0, true), "Nesterov"),
        (adam(1.0, 1e-8), "beta1"),
        (adam(0.9, -1.0), "eps"),
        (adam(0.9, f64::NAN), "eps"),
    ] {
        let said = error(config.build(params(1)));
        assert_contains(&said, &[word]);
    }
}

#[test]
fn settings_are_written_and_read_as_toml() {
    for config in all() {
        let text = toml::to_string(&config).unwrap();
        assert_eq!(toml::from_str::<OptimConfig>(&text).unwrap(), config, "{text}");
    }
    let short: OptimConfig = toml::from_str("kind = \"adamw\"\nweight_decay = 0.1").unwrap();
    assert!(matches!(short, OptimConfig::AdamW(c) if c.weight_decay == 0.1 && c.beta2 == 0.999));
    assert!(toml::from_str::<OptimConfig>("kind = \"adamw\"\nmomentum = 0.1").is_err());
}

#[test]
fn adamw_without_settings_has_pytorchs_weight_decay() {
    let plain: OptimConfig = toml::from_str("kind = \"adamw\"").unwrap();
    assert_eq!(plain, OptimConfig::adamw());
}

proptest! {
    #[test]
    fn clipping_keeps_the_direction_and_bounds_the_norm(seed in any::<u64>(), max in 0.01f64..50.0) {
        let before = grads(seed);
        let mut after = before.clone();
        let norm: f32 = clip_grad_norm(&mut after, max).unwrap().to_scalar().unwrap();
        let values = |grads: &[Tensor]| -> Vec<f64> {
            let of = |g: &Tensor| g.flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1().unwrap();
            grads.iter().flat_map(of).collect()
        };
        let (a, b) = (values(&before), values(&after));
        let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        prop_assert!((f64::from(norm) - length(&a)).abs() < 1e-5 * length(&a));
        let factor = (max / (length(&a) + 1e-6)).min(1.0);
        let apart: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * factor - b).collect();
        prop_assert!(length(&apart) < 1e-5 * length(&a));
        prop_assert!(length(&b) <= max.min(length(&a)) * (1.0 + 1e-5));
    }
}

#[test]
fn zero_gradients_are_not_clipped_and_bad_arguments_are_errors() {
    let mut zero = vec![Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap()];
    let norm = clip_grad_norm(&mut zero, 1.0).unwrap();
    assert_eq!(norm.to_scalar::<f32>().unwrap(), 0.0);
    assert_eq!(zero[0].to_vec1::<f32>().unwrap(), [0.0; 3]);
    assert!(error(clip_grad_norm(&mut [], 1.0)).contains("no gradients"));
    assert!(error(clip_grad_norm(&mut zero, 0.0)).contains("above 0"));
    assert!(error(clip_grad_norm(&mut zero, f64::NAN)).contains("above 0"));
}

#[test]
fn clipping_does_not_hide_a_gradient_of_nan() {
    let mut grads = vec![Tensor::new(&[1f32, f32::NAN], &Device::Cpu).unwrap()];
    let norm = clip_grad_norm(&mut grads, 1.0).unwrap();
    assert!(norm.to_scalar::<f32>().unwrap().is_nan());
    assert!(grads[0].to_vec1::<f32>().unwrap().iter().all(|g| g.is_nan()));
}
