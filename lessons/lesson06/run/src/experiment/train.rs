//! Short trainings of a small PointNet by the trainer's own steps, on trees of the built-in forest.

use std::sync::Arc;

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    kernels::Lowering,
    loader::{Batch, batches},
    model::PointNet,
    optim::{OptimConfig, Optimizer, SgdConfig},
    precision::{Autocast, BF16, DynamicScaler, Format, GradScaler},
    train::{
        Config, Loss, MasterWeights,
        short::{self, Forest, Learner},
    },
};
use lesson06::Lesson06;

use super::{
    census::{Census, Counts},
    trainer_parts::{RoundedWeights, Scale, rounded},
    ways::{Scaling, Way, Weights},
};

/// Points of a cloud.
pub const POINTS: usize = 64;
/// Clouds of a batch.
pub const BATCH: usize = 32;
/// Passes over the trees of each training.
pub const EPOCHS: usize = 6;
/// The learning rate of each epoch. It falls at the end, so that the formats differ by more than the noise of training.
const RATES: [f64; EPOCHS] = [0.05, 0.05, 0.05, 0.05, 0.015, 0.005];
/// The result of a training.
pub struct Trained {
    /// Mean loss of each epoch over the steps that were not skipped; NaN if it diverged.
    pub losses: Vec<f64>,
    /// Accuracy on trees of other plots; `None` if it diverged.
    pub accuracy: Option<f64>,
    pub steps: u64,
    pub left_out: u64,
    /// The loss scale at the end.
    pub scale: f64,
    pub gradients: Counts,
}

/// The trees of all trainings.
pub fn forest(seed: u64) -> Result<Forest> {
    // The student's functions round the numbers, on the CPU.
    Forest::open(Config {
        device: "cpu".into(),
        ..short::small(POINTS, seed)
    })
}

/// Batches of all epochs, drawn once for all trainings.
pub fn drawn(forest: &Forest) -> Result<Vec<Vec<Batch>>> {
    let epoch = |epoch: u64| {
        let records = batches(&forest.order(epoch), BATCH, true);
        records.iter().map(|r| forest.batch(r, epoch)).collect()
    };
    (0..EPOCHS as u64).map(epoch).collect()
}

/// Trains [`EPOCHS`] epochs one way.
pub fn train(forest: &Forest, answer: &Lesson06, way: &Way, epochs: &[Vec<Batch>]) -> Result<Trained> {
    let model = forest.model()?;
    let census = Arc::new(Census::default());
    let format = way.format;
    let mut learner = Learner {
        seed: forest.config.seed,
        lowering: format.map(|format| lowering(answer, way, format, census.clone())),
        scaler: scaler(answer, way.scaling).map(|scaler| Box::new(scaler) as Box<_>),
        ..Learner::new(
            model.clone(),
            optimizer(answer, way, &model)?,
            Loss::CROSS_ENTROPY,
        )
    };
    let mut losses = Vec::new();
    for (epoch, rate) in epochs.iter().zip(RATES) {
        let mut batches = epoch.iter().map(|batch| batch.to_device(&forest.device));
        let loss = learner.epoch(&mut batches, &mut |_| rate)?;
        losses.push(loss);
        if !loss.is_finite() {
            break;
        }
    }
    let whole = losses.iter().all(|l| l.is_finite());
    Ok(Trained {
        accuracy: if whole {
            Some(forest.accuracy(&model, &forest.unseen())?)
        } else {
            None
        },
        losses,
        steps: learner.steps,
        left_out: learner.skipped,
        scale: learner.scaler.map_or(1.0, |s| s.scale()),
        gradients: census.take(),
    })
}

/// Autocast by exercises 6.1, 6.2 and 6.7.
fn lowering(answer: &Lesson06, way: &Way, format: Format, census: Arc<Census>) -> Arc<dyn Lowering> {
    let scale = if way.scales {
        answer.scale_for
    } else {
        |_, _, _| 1.0
    };
    let cast = Autocast::emulated(format)
        .by_policy(way.policy.unwrap_or(answer.autocast))
        .by_rounding(answer.round_to, scale)
        .counted(census);
    Arc::new(cast)
}

/// The loss scale by exercise 6.4, and gradients by 6.3.
fn scaler(answer: &Lesson06, scaling: Scaling) -> Option<GradScaler<Scale>> {
    let (scale, power, update) = match scaling {
        Scaling::Off => return None,
        Scaling::Dynamic(power) => (65536.0, power, Some(answer.update_scale)),
        Scaling::Power(power) => (1.0, power, None),
    };
    let factor = 2f64.powi(power);
    let state = DynamicScaler {
        scale,
        interval: 50,
        ..DynamicScaler::default()
    };
    Some(
        GradScaler::new(Scale {
            state,
            factor,
            update,
        })
        .by(answer.scaled_gradients),
    )
}

/// SGD with momentum, whose steps grow with the gradients; the weights by exercise 6.5.
fn optimizer(answer: &Lesson06, way: &Way, model: &PointNet) -> Result<Box<dyn Optimizer>> {
    let sgd = |params| {
        let config = SgdConfig {
            momentum: 0.9,
            ..SgdConfig::default()
        };
        OptimConfig::Sgd(config).build(params)
    };
    let round = answer.round_to;
    let low = Box::new(move |t: &Tensor| rounded(t, round, BF16));
    let params = model.params();
    Ok(match way.weights {
        Weights::Full => sgd(params)?,
        Weights::Bf16WithMasters => Box::new(MasterWeights::new(params, low, sgd)?.by(answer.master_step)),
        Weights::Bf16 => Box::new(RoundedWeights::new(&params, low, sgd(params.clone())?)?),
    })
}
