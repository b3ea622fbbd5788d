//! Accumulated steps of the trainer, against one step over the same clouds.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use canopy::{
    kernels::Pass,
    model::{Kind, PointNet, PointNetConfig},
    optim::{OptimConfig, SgdConfig},
    train::{Loss, MicroBatch, Step},
};

use crate::values;

fn model() -> PointNet {
    let config = PointNetConfig {
        kind: Kind::Full,
        classes: 3,
        width: 16,
        dropout: 0.0,
        ..PointNetConfig::default()
    };
    PointNet::new(&config, &Device::Cpu, DType::F32, 5).unwrap()
}

fn clouds(count: usize) -> (Tensor, Tensor) {
    let numbers = Var::zeros((count, 24, 3), DType::F32, &Device::Cpu).unwrap();
    let points = canopy::optim::random_directions(&[numbers], 7).unwrap().remove(0);
    let labels: Vec<u32> = (0..count as u32).map(|i| i % 3).collect();
    (points, Tensor::new(labels, &Device::Cpu).unwrap())
}

/// Takes one step with `batches` as micro-batches. Returns the parameters after it.
fn after(batches: &[(Tensor, Tensor)], loss: &Loss) -> Result<Vec<f32>> {
    let model = model();
    let sgd = OptimConfig::Sgd(SgdConfig::with_momentum(0.0));
    let mut optimizer = sgd.build(model.params())?;
    let micro = |batch: &(Tensor, Tensor)| MicroBatch::new(batch.clone(), Pass::train(1, 0));
    let micro: Vec<MicroBatch> = batches.iter().map(micro).collect();
    Step::new(&model, &mut *optimizer, loss).take(&micro, 0.1)?;
    let flat = |(_, var): (String, Var)| var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    Ok(model.params().into_iter().flat_map(flat).collect())
}

/// If all micro-batches hold the same clouds, batch norm has the same statistics in each, and the step matches that of the
/// large batch.
#[test]
fn accumulated_micro_batches_match_the_large_batch() {
    let plain = Loss {
        smoothing: 0.1,
        class_weights: None,
        orthogonality: 0.01,
    };
    let weighted = Loss {
        class_weights: Some(Tensor::new(&[0.5f32, 1.0, 2.5], &Device::Cpu).unwrap()),
        ..plain.clone()
    };
    let (points, labels) = clouds(6);
    let twice = |t: &Tensor| Tensor::cat(&[t, t], 0).unwrap();
    let start = model().params().into_iter().flat_map(|(_, var)| values(&var));
    let start: Vec<f64> = start.collect();
    for loss in [plain, weighted] {
        let large = after(&[(twice(&points), twice(&labels))], &loss).unwrap();
        let micro = (points.clone(), labels.clone());
        let sum = after(&[micro.clone(), micro], &loss).unwrap();
        let off = large.iter().zip(&sum).map(|(a, b)| (a - b).abs());
        let moved = large.iter().zip(&start).map(|(a, b)| (f64::from(*a) - b).abs());
        let (off, moved) = (off.fold(0.0, f32::max), moved.fold(0.01, f64::max));
        assert!(f64::from(off) < 1e-4 * moved, "{off} of {moved}");
    }
}

#[test]
fn a_step_without_micro_batches_is_refused() {
    let refused = after(&[], &Loss::CROSS_ENTROPY).unwrap_err().to_string();
    assert!(refused.contains("at least one micro-batch"), "{refused}");
}
