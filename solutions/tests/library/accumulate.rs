//! Accumulated steps of the trainer, against one step over the same clouds.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use canopy::{
    kernels::Pass,
    model::{Kind, PointNet, PointNetConfig},
    optim::{OptimConfig, SgdConfig},
    train::{Loss, MicroBatch, Step, train_step},
};

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

/// Returns the parameters after the step that `take` takes.
fn after(take: impl Fn(&PointNet, &mut dyn canopy::optim::Optimizer) -> Result<()>) -> Vec<f32> {
    let model = model();
    let sgd = SgdConfig {
        momentum: 0.0,
        ..SgdConfig::default()
    };
    let mut optimizer = OptimConfig::Sgd(sgd).build(model.params()).unwrap();
    take(&model, &mut *optimizer).unwrap();
    let flat = |(_, var): (String, Var)| var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    model.params().into_iter().flat_map(flat).collect()
}

/// Takes one step with `batches` as micro-batches.
fn step(
    model: &PointNet,
    optimizer: &mut dyn canopy::optim::Optimizer,
    batches: &[(Tensor, Tensor)],
    loss: &Loss,
    clip: f64,
) -> Result<()> {
    let micro = |batch: &(Tensor, Tensor)| MicroBatch::new(batch.clone(), Pass::train(1, 0));
    let micro: Vec<MicroBatch> = batches.iter().map(micro).collect();
    let mut step = Step {
        clip,
        ..Step::new(model, optimizer, loss)
    };
    step.take(&micro, 0.1).map(drop)
}

fn losses() -> [Loss; 2] {
    let plain = Loss {
        smoothing: 0.1,
        class_weights: None,
        orthogonality: 0.01,
    };
    let weights = Tensor::new(&[0.5f32, 1.0, 2.5], &Device::Cpu).unwrap();
    let weighted = Loss {
        class_weights: Some(weights),
        ..plain.clone()
    };
    [plain, weighted]
}

#[test]
fn one_micro_batch_is_bit_identical_to_a_step() {
    let (points, labels) = clouds(6);
    for loss in losses() {
        let pass = || Pass::train(1, 0);
        let one = after(|m, o| train_step(m, o, (&points, &labels), &loss, &pass(), 0.1, 1.0).map(drop));
        let micro = [(points.clone(), labels.clone())];
        let same = after(|m, o| step(m, o, &micro, &loss, 1.0));
        assert_eq!(one, same);
    }
}

/// If all micro-batches hold the same clouds, batch norm has the same statistics in each, and the step matches that of the
/// large batch.
#[test]
fn accumulated_micro_batches_match_the_large_batch() {
    let (points, labels) = clouds(6);
    let twice = |t: &Tensor| Tensor::cat(&[t, t], 0).unwrap();
    let (all, all_labels) = (twice(&points), twice(&labels));
    for loss in losses() {
        let pass = || Pass::train(1, 0);
        let large = after(|m, o| train_step(m, o, (&all, &all_labels), &loss, &pass(), 0.1, 0.0).map(drop));
        let micro = [(points.clone(), labels.clone()), (points.clone(), labels.clone())];
        let sum = after(|m, o| step(m, o, &micro, &loss, 0.0));
        let start = after(|_, _| Ok(()));
        let off = large
            .iter()
            .zip(&sum)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        let moved = large
            .iter()
            .zip(&start)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(off < 1e-4 * moved.max(0.01), "{off} of {moved}");
    }
}

#[test]
fn a_step_without_micro_batches_is_refused() {
    let loss = Loss::CROSS_ENTROPY;
    let refused = std::cell::RefCell::new(String::new());
    after(|m, o| {
        *refused.borrow_mut() = step(m, o, &[], &loss, 0.0).unwrap_err().to_string();
        Ok(())
    });
    assert!(refused.take().contains("at least one micro-batch"));
}
