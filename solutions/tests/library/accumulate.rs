//! Accumulated steps of the trainer, against one step over the same clouds.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::Pass,
    model::{Kind, PointNet, PointNetConfig},
    optim::{OptimConfig, SgdConfig},
    train::{Loss, MicroBatch, Step},
};

use crate::{
    relative,
    tiny_models::{config, points, tensor},
    values,
};

/// Takes one step with `batches` as micro-batches. Returns by how much it moves the parameters.
fn moves(batches: &[(Tensor, Tensor)], loss: &Loss) -> Result<Vec<f64>> {
    let config = PointNetConfig {
        dropout: 0.0,
        ..config(Kind::Full)
    };
    let model = PointNet::new(&config, &Device::Cpu, DType::F32, 5)?;
    let params = || model.params().into_iter().flat_map(|(_, var)| values(&var));
    let before: Vec<f64> = params().collect();
    let mut optimizer = OptimConfig::Sgd(SgdConfig::with_momentum(0.0)).build(model.params())?;
    let micro = |batch: &(Tensor, Tensor)| MicroBatch::new(batch.clone(), Pass::train(1, 0));
    let micro: Vec<MicroBatch> = batches.iter().map(micro).collect();
    Step::new(&model, &mut *optimizer, loss).take(&micro, 0.1)?;
    Ok(params()
        .zip(before)
        .map(|(after, before)| after - before)
        .collect())
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
        class_weights: Some(Tensor::new(&[0.5f32, 1.0, 2.5, 1.0, 0.7], &Device::Cpu).unwrap()),
        ..plain.clone()
    };
    let micro = (
        tensor(&points(6, 24, 7), 6),
        Tensor::new(&[0u32, 1, 2, 3, 4, 0], &Device::Cpu).unwrap(),
    );
    let twice = |t: &Tensor| Tensor::cat(&[t, t], 0).unwrap();
    for loss in [plain, weighted] {
        let large = moves(&[(twice(&micro.0), twice(&micro.1))], &loss).unwrap();
        let sum = moves(&[micro.clone(), micro.clone()], &loss).unwrap();
        let off = relative(&sum, &large);
        assert!(off < 1e-4, "{off:.1e}");
    }
}

#[test]
fn a_step_without_micro_batches_is_refused() {
    let refused = moves(&[], &Loss::CROSS_ENTROPY).unwrap_err().to_string();
    assert!(refused.contains("at least one micro-batch"), "{refused}");
}
