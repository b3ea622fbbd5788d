//! Evaluations in low precision: how far logits and accuracy are from those in fp32.

use std::sync::{Arc, LazyLock};

use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::{Lowering, Pass},
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    precision::{Autocast, BF16, FP16, Format, TF32},
    train::{Loss, short::Learner},
};
use canopy_data::Philox;

use crate::mixed_precision::apart;

const POINTS: usize = 64;
const CLASSES: usize = 3;
/// Test clouds.
const CLOUDS: usize = 300;

/// Clouds of balls, cones and boxes with noise, `[clouds, points, 3]`, and their labels.
fn shapes(seed: u64, clouds: usize) -> (Tensor, Tensor) {
    let mut values = Vec::new();
    for cloud in 0..clouds {
        let mut r = Philox::new(seed, cloud as u64);
        for _ in 0..POINTS {
            let mut p = [0; 3].map(|_| r.range(-1.0, 1.0));
            let norm = p.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-3);
            match cloud % CLASSES {
                0 => p = p.map(|v| v / norm),
                1 => p = [p[0] * (1.0 - p[2]) / 2.0, p[1] * (1.0 - p[2]) / 2.0, p[2]],
                _ => {}
            }
            values.extend(p.map(|v| (v + 0.5 * r.range(-1.0, 1.0)) as f32));
        }
    }
    let labels = Tensor::from_iter((0..clouds).map(|i| (i % CLASSES) as u32), &Device::Cpu);
    let points = Tensor::from_vec(values, (clouds, POINTS, 3), &Device::Cpu);
    (points.unwrap(), labels.unwrap())
}

/// A network after a short training in fp32.
fn trained(kind: Kind) -> PointNet {
    let config = PointNetConfig {
        kind,
        classes: CLASSES,
        width: 8,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Device::Cpu, DType::F32, 6).unwrap();
    let optimizer = OptimConfig::adamw().build(model.params()).unwrap();
    let loss = Loss {
        orthogonality: 1e-3,
        ..Loss::CROSS_ENTROPY
    };
    let mut learner = Learner::new(model, optimizer, loss);
    // The running statistics follow the weights once these settle.
    for step in 0..160 {
        let (points, labels) = shapes(100 + step, 48);
        let rate = if step < 120 { 2e-3 } else { 2e-4 };
        learner.step((&points, &labels), rate).unwrap();
    }
    learner.model
}

/// The test clouds: their labels are 0, 1, 2, 0, ….
static TEST: LazyLock<Tensor> = LazyLock::new(|| shapes(7, CLOUDS).0);

/// The logits of all test clouds, one after the other.
fn logits(model: &PointNet, lowering: Option<Arc<dyn Lowering>>) -> Vec<f32> {
    let output = model.forward(&TEST, &Pass::eval().lowered(lowering)).unwrap();
    output.logits.flatten_all().unwrap().to_vec1().unwrap()
}

fn predictions(logits: &[f32]) -> Vec<usize> {
    let greatest = |row: &[f32]| (0..CLASSES).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    logits.chunks(CLASSES).map(|row| greatest(row).unwrap()).collect()
}

fn accuracy(logits: &[f32]) -> f64 {
    let each = predictions(logits).into_iter().enumerate();
    each.filter(|&(i, class)| class == i % CLASSES).count() as f64 / CLOUDS as f64
}

/// Products between the points and the logits, one after the other: a T-Net has 6 and its transform 1.
fn depth(kind: Kind) -> f64 {
    match kind {
        Kind::Vanilla => 8.0,
        Kind::Full => 8.0 + 2.0 * 7.0,
    }
}

/// A number is rounded by at most u of itself, where u = 2⁻⁽ᵐ⁺¹⁾ for a mantissa of m bits. A product rounds three times: its two
/// operands, and its result. Batch norm keeps the size of the values, so if no rounding cancels another and none grows, the
/// logits of all clouds together are wrong by 3·u·depth of their norm.
///
/// The accuracy is a mean over 300 clouds, with a standard error of √(p(1 − p)/300). A format may change it by less than that:
/// another draw of test clouds changes it as much.
fn check(kind: Kind, format: Format, full: &[f32], low: &[f32]) {
    let (what, most) = (
        format.name,
        3.0 * 2f64.powi(-(format.mantissa as i32) - 1) * depth(kind),
    );
    let (off, p, of_low) = (apart(low, full), accuracy(full), accuracy(low));
    let sampling = (p * (1.0 - p) / CLOUDS as f64).sqrt();
    let pairs = predictions(full).into_iter().zip(predictions(low));
    let changed = pairs.filter(|(a, b)| a != b).count();
    println!(
        "{kind}, {what}: logits differ by {off:.1e} (bound {most:.1e}), {changed} of {CLOUDS} predictions, accuracy {p:.3} \
         and {of_low:.3} (bound {sampling:.3})"
    );
    assert!(off > 0.0, "{kind}, {what}: nothing was rounded");
    assert!(off <= most, "{kind}, {what}: logits differ by {off:e}");
    assert!((p - of_low).abs() <= sampling, "{kind}, {what}: {p} and {of_low}");
}

#[test]
fn accuracy_in_low_precision_is_within_the_sampling_error() {
    for kind in [Kind::Vanilla, Kind::Full] {
        let model = trained(kind);
        let full = logits(&model, None);
        assert!(accuracy(&full) > 0.8, "{kind}: {}", accuracy(&full));
        for format in [TF32, BF16, FP16] {
            let low = logits(&model, Some(Arc::new(Autocast::emulated(format))));
            check(kind, format, &full, &low);
        }
    }
}
