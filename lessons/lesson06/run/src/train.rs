//! Short trainings of a small PointNet by the trainer's own steps, on trees of the built-in forest.

use std::sync::Arc;

use anyhow::Result;
use canopy::{
    kernels::Lowering,
    loader::{Batch, batches},
    optim::{OptimConfig, SgdConfig},
    precision::{Autocast, DynamicScaler, GradScaler, LossScale},
    train::{
        Config, Loss,
        short::{self, Forest, Learner},
    },
};
use lesson06::Lesson06;

use super::{
    census::Census,
    ways::{Scaling, Way},
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
    /// Mean loss of the last epoch over the steps that were not skipped; NaN if the training diverged.
    pub loss: f64,
    /// Accuracy on trees of other plots; `None` if it diverged.
    pub accuracy: Option<f64>,
    pub skipped: u64,
    /// The loss scale at the end.
    pub scale: f64,
    pub underflow: Option<f64>,
}

/// The trees of a seed, and the batches of all epochs, drawn once for all trainings.
pub struct Drawn {
    pub forest: Forest,
    epochs: Vec<Vec<Batch>>,
}

impl Drawn {
    pub fn new(seed: u64) -> Result<Self> {
        // The student's functions round the numbers, on the CPU.
        let forest = Forest::open(Config {
            device: "cpu".into(),
            ..short::small(POINTS, seed)
        })?;
        let epoch = |epoch: u64| {
            let records = batches(&forest.order(epoch), BATCH, true);
            records.iter().map(|r| forest.batch(r, epoch)).collect()
        };
        let epochs = (0..EPOCHS as u64).map(epoch).collect::<Result<_>>()?;
        Ok(Self { forest, epochs })
    }

    /// Trains [`EPOCHS`] epochs one way.
    pub fn train(&self, answer: &Lesson06, way: Way) -> Result<Trained> {
        let forest = &self.forest;
        let model = forest.model()?;
        // Its steps grow with the gradients.
        let sgd = OptimConfig::Sgd(SgdConfig {
            momentum: 0.9,
            ..SgdConfig::default()
        });
        let optimizer = sgd.build(model.params())?;
        let census = Arc::new(Census::default());
        let mut learner = Learner {
            seed: forest.config.seed,
            lowering: lowering(answer, way, &census),
            scaler: scaler(answer, way.2),
            ..Learner::new(model.clone(), optimizer, Loss::CROSS_ENTROPY)
        };
        let mut loss = f64::NAN;
        for (epoch, rate) in self.epochs.iter().zip(RATES) {
            let mut batches = epoch.iter().map(|batch| batch.to_device(&forest.device));
            loss = learner.epoch(&mut batches, &mut |_| rate)?;
            if !loss.is_finite() {
                break;
            }
        }
        let accuracy = loss
            .is_finite()
            .then(|| forest.accuracy(&model, &forest.unseen()));
        Ok(Trained {
            loss,
            accuracy: accuracy.transpose()?,
            skipped: learner.skipped,
            scale: learner.scaler.map_or(1.0, |s| s.scale()),
            underflow: census.underflow(),
        })
    }
}

/// Autocast by exercises 6.1, 6.2 and 6.7.
fn lowering(
    answer: &Lesson06,
    (_, format, _, scales): Way,
    census: &Arc<Census>,
) -> Option<Arc<dyn Lowering>> {
    let scale = if scales { answer.scale_for } else { |_, _, _| 1.0 };
    let cast = Autocast::emulated(format?)
        .by_policy(answer.autocast)
        .by_rounding(answer.round_to, scale)
        .counted(census.clone());
    Some(Arc::new(cast))
}

/// The loss scale by exercise 6.4, and gradients by 6.3.
fn scaler(answer: &Lesson06, scaling: Scaling) -> Option<Box<GradScaler<dyn LossScale>>> {
    let (scale, power, update) = match scaling {
        Scaling::Off => return None,
        Scaling::Dynamic(power) => (65536.0, power, Some(answer.update_scale)),
        Scaling::Power(power) => (1.0, power, None),
    };
    let state = DynamicScaler {
        scale,
        interval: 50,
        ..DynamicScaler::default()
    };
    let factor = 2f64.powi(power);
    let scale = Scale {
        state,
        factor,
        update,
    };
    Some(Box::new(GradScaler::new(scale).by(answer.scaled_gradients)))
}

/// The loss scale of a training.
struct Scale {
    state: DynamicScaler,
    /// What the loss is multiplied by in addition, as if the network's gradients were so much larger.
    factor: f64,
    /// `None`: the scale is constant.
    update: Option<fn(&mut DynamicScaler, bool)>,
}

impl LossScale for Scale {
    fn scale(&self) -> f64 {
        self.state.scale * self.factor
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        if let Some(update) = self.update {
            update(&mut self.state, found_inf);
        }
        Ok(())
    }
}
