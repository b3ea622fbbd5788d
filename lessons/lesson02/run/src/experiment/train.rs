//! Trains a small network of canopy's on clouds that the exercises prepare, with the orthogonality term of exercise 2.5.

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy::{
    kernels::{Pass, loss_by_candle},
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    schedule::cosine_with_warmup,
    train::{Loss, MicroBatch, Objective, Step, short::Forest},
};
use canopy_data::Philox;
use lesson02::Lesson02;

use super::clouds::{Cloud, Tree, batch, sampled};

const EPOCHS: usize = 24;
const BATCH: usize = 32;

/// The full network with a quarter of its channels.
pub fn config(classes: usize) -> PointNetConfig {
    PointNetConfig {
        kind: Kind::Full,
        classes,
        width: 4,
        ..PointNetConfig::default()
    }
}

/// Cross-entropy with the orthogonality term of exercise 2.5.
#[derive(Debug)]
struct WithTerm {
    loss: Loss,
    term: fn(&Tensor) -> candle_core::Result<Tensor>,
}

impl Objective for WithTerm {
    fn of_outputs(&self, outputs: &Tensor, labels: &Tensor, pass: &Pass) -> Result<(Tensor, Tensor)> {
        self.loss.of_outputs(outputs, labels, pass)
    }

    fn orthogonality(&self) -> f64 {
        self.loss.orthogonality
    }

    fn orthogonality_term(&self, transform: &Tensor) -> Result<Tensor> {
        Ok(loss_by_candle(transform, self.term)?)
    }
}

/// A network trained on `trees`, and the mean loss of each epoch.
pub fn trained(
    answer: &Lesson02,
    forest: &Forest,
    trees: &[Tree],
    seed: u64,
    mut after_epoch: impl FnMut(usize, f64),
) -> Result<(PointNet, Vec<f64>)> {
    let model = PointNet::new(
        &config(forest.data.species.len()),
        &forest.device,
        DType::F32,
        seed,
    )?;
    let mut optimizer = OptimConfig::adamw().build(model.params())?;
    let objective = WithTerm {
        loss: Loss {
            smoothing: 0.1,
            orthogonality: 1e-3,
            ..Loss::CROSS_ENTROPY
        },
        term: answer.orthogonality,
    };
    let mut training = Step {
        clip: 1.0,
        ..Step::new(&model, &mut *optimizer, &objective)
    };
    let steps = trees.len().div_ceil(BATCH);
    let total = (steps * EPOCHS) as u64;
    let rate = |step| cosine_with_warmup(step, (0.1 * total as f64).round() as u64, total, 2e-3, 0.0);
    let mut losses = Vec::new();
    let mut step = 0;
    for epoch in 0..EPOCHS {
        let mut random = Philox::new(seed, 1 + epoch as u64);
        let mut order: Vec<usize> = (0..trees.len()).collect();
        random.shuffle(&mut order);
        let mut sum = 0.0;
        for records in order.chunks(BATCH) {
            let clouds: Vec<Cloud> = records
                .iter()
                .map(|&r| {
                    let mut cloud = sampled(answer, &trees[r], &mut random);
                    (answer.turn)(&mut cloud, random.uniform_f64() * std::f64::consts::TAU);
                    (answer.jitter)(&mut cloud, 0.005, &mut random);
                    cloud
                })
                .collect();
            let labels: Vec<u32> = records.iter().map(|&r| trees[r].species).collect();
            let labels = Tensor::new(labels, &forest.device)?;
            let pass = Pass::train(seed, step);
            let points = batch(&clouds)?.to_device(&forest.device)?;
            let stepped = training.take(&[MicroBatch::new((points, labels), pass)], rate(step))?;
            for figures in stepped.figures {
                sum += f64::from(figures.loss.to_scalar::<f32>()?) * figures.clouds as f64;
            }
            step += 1;
        }
        losses.push(sum / trees.len() as f64);
        after_epoch(epoch + 1, losses[epoch]);
    }
    Ok((model, losses))
}
