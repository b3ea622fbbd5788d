//! LARS and LAMB against their papers; every optimizer bit-identical from a saved state, and its errors; gradient clipping.
//! `goldens/make_optimizers.py` made the expected values; `goldens.rs` has those of SGD, Adam and AdamW.

use std::collections::{BTreeSet, HashMap};

use candle_core::{DType, Device, Tensor, Var};
use canopy::optim::{OptimConfig, Optimizer, SgdConfig, clip_grad_norm};
use canopy_data::Philox;
use proptest::prelude::*;

use crate::{assert_contains, error, golden, relative, values};

type State = HashMap<String, Tensor>;
type Params = Vec<(String, Var)>;

fn random(shape: &[usize], seed: u64, scale: f32) -> Tensor {
    let mut random = Philox::new(seed, 1);
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|_| scale * random.normal() as f32).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn params(seed: u64) -> Params {
    let var = |i, shape: &[usize]| Var::from_tensor(&random(shape, seed + i, 1.0)).unwrap();
    vec![("a".into(), var(0, &[4, 3])), ("b".into(), var(1, &[5]))]
}

fn grads(seed: u64) -> Vec<Tensor> {
    vec![random(&[4, 3], seed + 50, 0.1), random(&[5], seed + 51, 3.0)]
}

fn bits(params: &Params) -> Vec<u64> {
    let values = params.iter().flat_map(|(_, var)| values(var));
    values.map(f64::to_bits).collect()
}

fn state(optimizer: &dyn Optimizer) -> State {
    optimizer.state().unwrap().into_iter().collect()
}

/// The optimizer `kind` with `settings` in TOML.
fn with(kind: &str, settings: &str) -> OptimConfig {
    let defaults = OptimConfig::all().into_iter().find(|optim| optim.name() == kind);
    let mut table = toml::Table::try_from(defaults.unwrap()).unwrap();
    table.extend(settings.parse::<toml::Table>().unwrap());
    table.try_into().unwrap()
}

/// Every optimizer, and SGD in its other forms.
fn all() -> Vec<OptimConfig> {
    let forms = [
        OptimConfig::Sgd(SgdConfig::with_momentum(0.0)),
        with("sgd", "nesterov = true\nweight_decay = 0.01"),
    ];
    OptimConfig::all().into_iter().chain(forms).collect()
}

/// Two tensors, because the steps depend on each tensor's norm.
#[test]
fn lars_and_lamb_match_their_papers() {
    let golden = golden("more_optimizers");
    for (kind, settings, lr) in [
        ("lars", "weight_decay = 0.01\ntrust = 0.02", 0.3),
        ("lamb", "beta2 = 0.99\nweight_decay = 0.05", 0.02),
    ] {
        for (dtype, limit) in [(DType::F64, 1e-12), (DType::F32, 2e-6)] {
            let of = |name: &str| golden[name].to_dtype(dtype).unwrap();
            let params = ["start", "start_2"].map(|name| (name.into(), Var::from_tensor(&of(name)).unwrap()));
            let mut optimizer = with(kind, settings).build(params.to_vec()).unwrap();
            for t in 0..12 {
                let grads = ["grads", "grads_2"].map(|name| of(name).get(t).unwrap());
                optimizer.step(&grads, lr).unwrap();
            }
            for (i, (_, w)) in params.iter().enumerate() {
                let error = relative(&values(w), &values(&golden[&format!("{kind}_{i}")]));
                assert!(error < limit, "{kind}, {dtype:?}: {error:.1e}");
            }
        }
    }
}

#[test]
fn long_and_strided_gradients_take_the_step_of_short_ones() {
    // Long gradients are split among threads. Strided ones take the path of candle's operators instead of the kernel.
    let whole = random(&[300, 200], 4, 1.0);
    let grad = random(&[300, 200], 5, 1.0);
    for config in all() {
        let stepped = |from: &Tensor, grad: &Tensor| {
            let w = Var::from_tensor(from).unwrap();
            let mut optimizer = config.build(vec![("w".into(), w.clone())]).unwrap();
            for _ in 0..3 {
                optimizer.step(std::slice::from_ref(grad), 0.1).unwrap();
            }
            values(&w)
        };
        let long = stepped(&whole, &grad);
        let strided = grad.t().unwrap().contiguous().unwrap().t().unwrap();
        assert!(!strided.is_contiguous());
        for (a, b) in long.iter().zip(stepped(&whole, &strided)) {
            assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{config:?}: {a} and {b}");
        }
        if !["lars", "lamb"].contains(&config.name()) {
            let last = |t: &Tensor| t.narrow(0, 299, 1).unwrap().contiguous().unwrap();
            let short = stepped(&last(&whole), &last(&grad));
            assert_eq!(long[299 * 200..], short[..], "{config:?}");
        }
    }
}

#[test]
fn training_continues_bit_identically_from_a_saved_state() {
    for config in all() {
        let unbroken = params(1);
        let mut optimizer = config.build(unbroken.clone()).unwrap();
        let step = |optimizer: &mut dyn Optimizer, steps: std::ops::Range<u64>| {
            steps.for_each(|step| optimizer.step(&grads(step), 0.01).unwrap());
        };
        step(&mut *optimizer, 0..3);
        let copy = |(name, v): &(String, Var)| (name.clone(), Var::from_tensor(&v.copy().unwrap()).unwrap());
        let middle: Params = unbroken.iter().map(copy).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        let saved = state(&*optimizer);
        step(&mut *optimizer, 3..6);
        // Written after the steps, so that a state that shared memory with the optimizer would be wrong here.
        candle_core::safetensors::save(&saved, file.path()).unwrap();
        let mut resumed = config.build(middle.clone()).unwrap();
        let read = candle_core::safetensors::load(file.path(), &Device::Cpu).unwrap();
        resumed.load_state(&read).unwrap();
        step(&mut *resumed, 3..6);
        assert_eq!(bits(&unbroken), bits(&middle), "{config:?}");
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
    let own = state(&*adam);
    let with = |name: &str, tensor: Option<Tensor>| {
        let mut state = own.clone();
        state.remove(name);
        state.extend(tensor.map(|tensor| (name.to_owned(), tensor)));
        state
    };
    let odd = || Some(random(&[3, 4], 1, 1.0));
    let double = random(&[5], 1, 1.0).to_dtype(DType::F64).unwrap();
    let negative = Tensor::new(-1i64, &Device::Cpu).unwrap();
    for (state, words) in [
        (
            state(&*trained(&OptimConfig::sgd())),
            &["exp_avg.a", "missing", "another optimizer"][..],
        ),
        (with("exp_avg_sq.a", odd()), &["exp_avg_sq.a", "[4, 3]", "[3, 4]"]),
        (with("exp_avg.b", Some(double)), &["exp_avg.b", "F32", "F64"]),
        (with("exp_avg.c", odd()), &["expected 5 tensors, got 6"]),
        (with("step", odd()), &["step"]),
        (with("step", Some(negative)), &["step", "negative"]),
        (with("step", None), &["step", "missing"]),
    ] {
        assert_contains(&error(adam.load_state(&state)), words);
        for (name, tensor) in adam.state().unwrap() {
            assert_eq!(values(&tensor), values(&own[&name]), "{name}");
        }
    }
    let names = |state: &State| state.keys().cloned().collect::<BTreeSet<String>>();
    for giver in OptimConfig::all() {
        let given = state(&*trained(&giver));
        for taker in OptimConfig::all() {
            let mut taken = trained(&taker);
            let fits = names(&state(&*taken)) == names(&given);
            assert_eq!(taken.load_state(&given).is_ok(), fits, "{taker:?} of {giver:?}");
        }
    }
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

proptest! {
    /// In f32 by the kernels, in f64 by candle's operators.
    #[test]
    fn clipping_keeps_the_direction_and_bounds_the_norm(seed in any::<u64>(), max in 0.01f64..50.0, wide: bool) {
        let dtype = if wide { DType::F64 } else { DType::F32 };
        let before: Vec<Tensor> = grads(seed).iter().map(|g| g.to_dtype(dtype).unwrap()).collect();
        let mut after = before.clone();
        let norm = values(&clip_grad_norm(&mut after, max).unwrap())[0];
        let [a, b] = [before, after].map(|grads| grads.iter().flat_map(values).collect::<Vec<f64>>());
        let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        prop_assert!((norm - length(&a)).abs() < 1e-5 * length(&a));
        let factor = (max / (length(&a) + 1e-6)).min(1.0);
        let apart: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * factor - b).collect();
        prop_assert!(length(&apart) < 1e-5 * length(&a));
        prop_assert!(length(&b) <= max.min(length(&a)) * (1.0 + 1e-5));
    }
}

#[test]
fn clipping_keeps_zeros_and_nan_and_refuses_bad_arguments() {
    let clipped = |numbers: &[f32], max| {
        let mut grads = vec![Tensor::new(numbers, &Device::Cpu).unwrap()];
        let norm = clip_grad_norm(&mut grads, max)?.to_scalar::<f32>()?;
        Ok::<_, anyhow::Error>((norm, grads[0].to_vec1::<f32>()?))
    };
    assert_eq!(clipped(&[0.0; 3], 1.0).unwrap(), (0.0, vec![0.0; 3]));
    let (norm, hidden) = clipped(&[1.0, f32::NAN], 1.0).unwrap();
    assert!(norm.is_nan() && hidden.iter().all(|g| g.is_nan()));
    assert!(error(clip_grad_norm(&mut [], 1.0)).contains("no gradients"));
    assert!(error(clipped(&[0.0], 0.0)).contains("above 0"));
    assert!(error(clipped(&[0.0], f64::NAN)).contains("above 0"));
}
