//! Mixed-precision training: emulated operators against candle's low-precision ones, and steps with loss scaling.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::{
    kernels::{Lowering, Operator, Pass, cross_entropy},
    model::{Kind, PointNet},
    optim::{OptimConfig, Optimizer},
    precision::{
        Autocast, BF16, Casting, DynamicScaler, FP8_E4M3, FP16, Format, GradScaler, GradientCensus,
        LossScale, Precision, TF32, autocast, round_to, scale_for,
    },
    train::{Loss, MicroBatch, Step, Stepped},
};

use crate::{
    tiny_models::{self, flat},
    values,
};

const LOSS: Loss = Loss::USUAL;

/// Takes a step with `passes.len()` micro-batches, each of them [`batch`].
fn step(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    passes: Vec<Pass>,
    clip: f64,
    scaler: Option<&mut GradScaler<dyn LossScale>>,
) -> Stepped {
    let micro: Vec<MicroBatch> = passes
        .into_iter()
        .map(|pass| MicroBatch::new(batch(), pass))
        .collect();
    let mut step = Step {
        clip,
        scaler,
        ..Step::new(model, optimizer, &LOSS)
    };
    step.take(&micro, 0.1).unwrap()
}

fn model() -> PointNet {
    tiny_models::model(Kind::Full, 6)
}

fn batch() -> (Tensor, Tensor) {
    let numbers: Vec<f32> = (0..6 * 40 * 3).map(|i| (i as f32 * 0.37).sin()).collect();
    let points = Tensor::from_vec(numbers, (6, 40, 3), &Device::Cpu).unwrap();
    (points, Tensor::new(&[0u32, 1, 2, 3, 4, 1], &Device::Cpu).unwrap())
}

/// A training pass with `lowering`.
fn lowered(lowering: impl Lowering + 'static) -> Pass {
    Pass::train(1, 0).lowered(Some(Arc::new(lowering)))
}

/// Returns the logits and the concatenated gradients of a pass.
fn run(kind: Kind, pass: Pass) -> (Vec<f32>, Vec<f32>) {
    let (model, (points, labels)) = (tiny_models::model(kind, 6), batch());
    let logits = model.forward(&points, &pass).unwrap().logits;
    let loss = cross_entropy(&logits, &labels, 0.1, None).unwrap();
    let grads = model.gradients(&loss, &pass).unwrap();
    // Masters get fp32 gradients: `flat` takes no other dtype.
    (flat(&logits), grads.iter().flat_map(flat).collect())
}

/// ‖a − b‖/‖b‖.
pub fn apart(a: &[f32], b: &[f32]) -> f64 {
    let off: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (off / b.iter().map(|b| f64::from(*b).powi(2)).sum::<f64>()).sqrt()
}

/// [`apart`] for logits and for gradients.
fn both_apart(a: &(Vec<f32>, Vec<f32>), b: &(Vec<f32>, Vec<f32>)) -> [f64; 2] {
    [apart(&a.0, &b.0), apart(&a.1, &b.1)]
}

#[test]
fn emulation_is_closer_to_candles_low_precision_than_fp32_is() {
    let full = run(Kind::Full, Pass::train(1, 0));
    for (format, dtype) in [(BF16, DType::BF16), (FP16, DType::F16)] {
        let real = run(Kind::Full, lowered(Autocast::real(dtype)));
        let emulated = run(Kind::Full, lowered(Autocast::emulated(format)));
        let (own, to_full) = (apart(&emulated.0, &real.0), apart(&full.0, &real.0));
        let name = format.name;
        assert!(own < 0.5 * to_full, "{name}: {own:.1e} and {to_full:.1e}");
        assert!(to_full < 0.2 && to_full > 0.0, "{name}: {to_full}");
    }
}

#[test]
fn emulation_agrees_between_tape_and_plain_operators() {
    let pass = || lowered(Autocast::emulated(FP16));
    let tape = run(Kind::Full, pass());
    let rounding = both_apart(&tape, &run(Kind::Full, Pass::train(1, 0)));
    let off = both_apart(&tape, &run(Kind::Full, pass().plain(true)));
    assert!(
        off[0] < 0.3 * rounding[0] && off[1] < 0.5 * rounding[1],
        "{off:?} and {rounding:?}"
    );
}

#[test]
fn a_product_is_rounded_as_on_tensor_cores() {
    let numbers = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<f32>>();
    let x = Var::from_vec(numbers(12, 0.7), (3, 4), &Device::Cpu).unwrap();
    let w = Var::from_vec(numbers(20, 0.3), (5, 4), &Device::Cpu).unwrap();
    let up = Tensor::from_vec(numbers(15, 1.1), (3, 5), &Device::Cpu).unwrap();
    let round = |t: &Tensor, f: Format| -> Tensor {
        let values: Vec<f32> = t.flatten_all().unwrap().to_vec1().unwrap();
        let rounded = values.into_iter().map(|v| round_to(v, f)).collect();
        Tensor::from_vec(rounded, t.shape(), t.device()).unwrap()
    };
    for format in [TF32, BF16, FP16] {
        // The output of tf32 is fp32; the other formats also round the output.
        let out = |t: Tensor| if format == TF32 { t } else { round(&t, format) };
        let pass = lowered(Autocast::emulated(format)).plain(true);
        let product = |[x, w]: [Tensor; 2]| x.matmul(&w.t()?);
        let y = pass.operate(Operator::Linear, [&x, &w], product).unwrap();
        let (xl, wl, ul) = (round(&x, format), round(&w, format), round(&up, format));
        let same = |a: &Tensor, b: &Tensor| assert_eq!(values(a), values(b), "{}", format.name);
        same(&y, &out(xl.matmul(&wl.t().unwrap()).unwrap()));
        let grads = (y * &up).unwrap().sum_all().unwrap().backward().unwrap();
        same(grads.get(&x).unwrap(), &out(ul.matmul(&wl).unwrap()));
        same(grads.get(&w).unwrap(), &out(ul.t().unwrap().matmul(&xl).unwrap()));
    }
}

#[derive(Debug, Default)]
struct Seen(Mutex<Vec<Operator>>);

impl Lowering for Seen {
    fn input(&self, _: &Pass, operator: Operator, x: &Tensor) -> Result<Tensor> {
        self.0.lock().unwrap().push(operator);
        Ok(x.clone())
    }

    fn output(&self, _: &Pass, _: Operator, y: Tensor) -> Result<Tensor> {
        Ok(y)
    }
}

#[test]
fn every_operator_of_a_training_step_is_lowered() {
    let (model, seen) = (model(), Arc::new(Seen::default()));
    let pass = Pass::train(1, 0).lowered(Some(seen.clone()));
    step(&model, &mut *sgd(&model), vec![pass], 0.0, None);
    let seen = seen.0.lock().unwrap();
    use Operator::*;
    for operator in [Linear, Matmul, BatchNorm, Relu, Max, Dropout, CrossEntropy] {
        assert!(seen.contains(&operator), "{operator:?}");
    }
}

#[test]
fn the_autocast_policy_is_more_accurate_than_lowering_everything() {
    let of = |policy: fn(Operator) -> Casting| {
        run(Kind::Full, lowered(Autocast::emulated(BF16).by_policy(policy))).1
    };
    let full = run(Kind::Full, Pass::train(1, 0)).1;
    let none = apart(&of(|_| Casting::Full), &full);
    assert!(
        none < 1e-4,
        "unfused operators differ from fused ones only in the order of sums: {none}"
    );
    let (ours, all) = (apart(&of(autocast), &full), apart(&of(|_| Casting::Low), &full));
    assert!(ours < all, "{ours} and {all}");
}

#[test]
fn fp8_scales_keep_small_values_from_underflow() {
    let numbers: Vec<f32> = (0..64).map(|i| 1e-4 * (i as f32 * 0.7).sin()).collect();
    let x = Tensor::from_vec(numbers, (8, 8), &Device::Cpu).unwrap();
    let product = |[a, b]: [Tensor; 2]| a.matmul(&b);
    let of = |scale: fn(f32, Format, u32) -> f32| {
        let pass = lowered(Autocast::emulated(FP8_E4M3).by_rounding(round_to, scale));
        flat(&pass.operate(Operator::Matmul, [&x, &x], product).unwrap())
    };
    let full = flat(&x.matmul(&x).unwrap());
    let (scaled, plain) = (apart(&of(scale_for), &full), apart(&of(|_, _, _| 1.0), &full));
    assert!(scaled < 0.1 && plain > 0.9, "{scaled} and {plain}");
}

fn sgd(model: &PointNet) -> Box<dyn Optimizer> {
    OptimConfig::sgd().build(model.params()).unwrap()
}

/// The bits of all weights.
fn weights(model: &PointNet) -> Vec<u64> {
    let all = model.params().into_iter().flat_map(|(_, var)| values(&var));
    all.map(f64::to_bits).collect()
}

#[test]
fn a_power_of_two_loss_scale_is_bit_identical_in_fp32() {
    let ends = [None, Some(1024.0)].map(|scale| {
        let model = model();
        let mut sgd = sgd(&model);
        for _ in 0..3 {
            let passes = vec![Pass::train(1, 0), Pass::train(1, 1)];
            let mut scaler = scale.map(|s| GradScaler::new(DynamicScaler::new(s, 2000).unwrap()));
            let scaler = scaler.as_mut().map(|s| s as &mut GradScaler<dyn LossScale>);
            let done = step(&model, &mut *sgd, passes, 1.0, scaler);
            assert!(done.taken && done.figures.len() == 2);
        }
        weights(&model)
    });
    assert!(ends[0] == ends[1]);
}

#[test]
fn an_overflow_skips_the_step_and_halves_the_scale() {
    let model = model();
    let mut sgd = sgd(&model);
    let before = weights(&model);
    let mut scaler = GradScaler::new(DynamicScaler::new(2f64.powi(100), 2000).unwrap());
    let mut one = |scaler: &mut GradScaler<_>| {
        let pass = Pass::train(1, 0).lowered(Precision::Fp16.lowering(&Device::Cpu));
        step(&model, &mut *sgd, vec![pass], 1.0, Some(scaler)).taken
    };
    assert!(!one(&mut scaler));
    assert!(weights(&model) == before);
    assert_eq!(scaler.scale(), 2f64.powi(99));
    let mut scaler = GradScaler::new(DynamicScaler::new(8.0, 2000).unwrap());
    assert!(one(&mut scaler));
    assert!(weights(&model) != before);
}

/// Counts the gradients that are rounded to 0. None may overflow.
#[derive(Debug, Default)]
struct Lost(AtomicUsize);

impl GradientCensus for Lost {
    fn note(&self, before: &[f32], after: &[f32]) {
        assert!(after.iter().all(|g| g.is_finite()));
        let lost = before.iter().zip(after).filter(|(b, a)| **b != 0.0 && **a == 0.0);
        self.0.fetch_add(lost.count(), Relaxed);
    }
}

#[test]
fn loss_scaling_reduces_underflow_in_fp16() {
    let lost = [1.0, 64.0].map(|scale| {
        let (model, census) = (model(), Arc::new(Lost::default()));
        let pass = lowered(Autocast::emulated(FP16).counted(census.clone()));
        let mut scaler = GradScaler::new(DynamicScaler::new(scale, 2000).unwrap());
        step(&model, &mut *sgd(&model), vec![pass], 0.0, Some(&mut scaler));
        census.0.load(Relaxed)
    });
    assert!(lost[0] > 0 && lost[1] < lost[0] / 2, "{lost:?}");
}
