//! canopy's side of the benchmark: its loader, network, loss and optimizer on synthetic clouds in memory.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use candle_core::{DType, Device, Tensor};
use canopy_data::{Cloud, CloudSource, Dataset, Philox, TreeRecord};

use super::Options;
use crate::kernels::{Lowering, Pass};
use crate::loader::{Augment, Collate, Features, Frame, Loader, Points};
use crate::model::{PointNet, PointNetConfig};
use crate::optim::OptimConfig;
use crate::precision::{GradScaler, LossScaling, Precision};
use crate::profile;
use crate::train::{Loss, memory::in_use, short::Learner};

/// Milliseconds of each timed step: loader, forward pass, backward pass, optimizer, and all of them. Of steps that were queued,
/// the mean of each round, without its parts.
pub type Times = Vec<[f64; 5]>;

/// Clouds with four times the points of a sample, uniform in a box as high as a tree.
#[derive(Debug)]
struct Synthetic {
    points: usize,
}

impl CloudSource for Synthetic {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        let mut random = Philox::new(1, index as u64);
        let point = |r: &mut Philox| [r.uniform() * 8.0, r.uniform() * 8.0, r.uniform() * 25.0];
        let xyz = (0..4 * self.points).map(|_| point(&mut random));
        Ok(Cloud::from_points(xyz.collect()))
    }
}

/// Network, optimizer and loader, ready for rounds.
pub struct Bench {
    train: bool,
    options: Options,
    device: Device,
    learner: Learner,
    lowering: Option<Arc<dyn Lowering>>,
    loader: Loader,
    step: u64,
    /// Bytes of tensors after a tenth of a round's steps, and after all.
    pub in_use: Option<[u64; 2]>,
}

impl Bench {
    pub fn new(train: bool, options: &Options, precision: Precision, device: &Device) -> Result<Self> {
        let config = PointNetConfig {
            kind: options.model,
            classes: options.classes,
            ..PointNetConfig::default()
        };
        let model = PointNet::new(&config, device, DType::F32, 1)?;
        let optimizer = OptimConfig::adamw().build(model.params())?;
        let record = |i: usize| TreeRecord {
            tree: format!("tree {i}"),
            species: i % options.classes,
            source: "synthetic".into(),
            ..TreeRecord::default()
        };
        let source = Arc::new(Synthetic {
            points: options.points,
        });
        let species = (0..options.classes).map(|c| format!("species {c}")).collect();
        let records = (0..options.batch).map(record).collect();
        let collate = Collate {
            data: Dataset::new("bench".into(), species, records, String::new(), source),
            points: Points::Fixed(options.points),
            frame: Frame::Sphere,
            features: Features::Xyz,
            augment: Augment::NONE,
            seed: 1,
        };
        let lowering = precision.lowering(device);
        let scales = !device.is_cpu();
        let scaler = scales.then(|| LossScaling::Auto.scaler(precision)).flatten();
        Ok(Self {
            train,
            device: device.clone(),
            options: options.clone(),
            learner: Learner {
                plain: options.plain,
                lowering: lowering.clone(),
                scaler: scaler.map(|scaler| Box::new(GradScaler::new(scaler)) as Box<_>),
                ..Learner::new(model, optimizer, Loss::USUAL)
            },
            loader: Loader::new(Arc::new(collate), options.workers, 2),
            lowering,
            step: 0,
            in_use: None,
        })
    }

    /// Takes one untimed step, then the timed ones.
    pub fn round(&mut self, times: &mut Times) -> Result<()> {
        if !self.device.is_cpu() {
            return self.queued_round(times);
        }
        let all: Vec<usize> = (0..self.options.batch).collect();
        // The loader prefetches no more batches than the round has.
        let mut batches = self.loader.epoch(self.step, vec![all; self.options.repeats + 1]);
        for timed in 0..=self.options.repeats {
            let start = Instant::now();
            let batch = batches.next().context("the loader ended early")??;
            let (points, labels) = batch.to_device(&Device::Cpu)?;
            let loaded = ms(start);
            let [forward, backward, optimizer] = match self.train {
                true => train(&mut self.learner, &points, &labels)?,
                false => {
                    let start = Instant::now();
                    self.infer(&points)?;
                    [ms(start), 0.0, 0.0]
                }
            };
            self.step += 1;
            self.count_memory(timed);
            if timed > 0 {
                // Inference times the network only, as PyTorch's side does.
                let loaded = if self.train { loaded } else { 0.0 };
                let all = loaded + forward + backward + optimizer;
                times.push([loaded, forward, backward, optimizer, all]);
            }
        }
        Ok(())
    }

    /// As [`Self::round`] on a GPU: a batch that is on the device, and steps that are queued without waiting for each other.
    fn queued_round(&mut self, times: &mut Times) -> Result<()> {
        let (clouds, points) = (self.options.batch, self.options.points);
        let points = Tensor::rand(-1_f32, 1.0, (clouds, points, 3), &self.device)?;
        let classes = self.options.classes as u32;
        let labels = Tensor::from_iter((0..clouds as u32).map(|i| i % classes), &self.device)?;
        let mut start = Instant::now();
        for timed in 0..=self.options.repeats {
            if self.train {
                self.learner.step((&points, &labels), 1e-3)?;
            } else {
                self.infer(&points)?;
            }
            if timed == 0 {
                self.device.synchronize()?;
                start = Instant::now();
            }
            if self.options.repeats >= COUNTED {
                self.count_memory(timed);
            }
        }
        self.device.synchronize()?;
        times.push([0.0, 0.0, 0.0, 0.0, ms(start) / self.options.repeats as f64]);
        Ok(())
    }

    fn infer(&self, points: &Tensor) -> Result<()> {
        let pass = Pass::eval()
            .plain(self.options.plain)
            .lowered(self.lowering.clone());
        self.learner.model.forward(points, &pass)?;
        Ok(())
    }

    /// Keeps the bytes in use after a tenth of the steps, and after all.
    fn count_memory(&mut self, timed: usize) {
        let repeats = self.options.repeats;
        let looks = timed == repeats.div_ceil(10) || timed == repeats;
        if let Some(memory) = looks.then(|| in_use(&self.device)).flatten() {
            let [first, _] = self.in_use.unwrap_or([memory.now; 2]);
            self.in_use = Some([first, memory.now]);
        }
    }
}

/// Rounds of so many queued steps look at the memory, which waits for the device.
const COUNTED: usize = 100;

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Takes one training step. Returns the milliseconds of forward pass, backward pass and optimizer.
fn train(learner: &mut Learner, points: &Tensor, labels: &Tensor) -> Result<[f64; 3]> {
    let recording = profile::start(&Device::Cpu, false)?;
    learner.step((points, labels), 1e-3)?;
    let timeline = profile::stop(recording)?;
    let ms = |names: &[&str]| -> f64 {
        let of = timeline.spans.iter().filter(|span| names.contains(&&*span.name));
        of.map(|span| span.duration() as f64 / 1e6).sum()
    };
    Ok([ms(&["forward", "loss"]), ms(&["backward"]), ms(&["optimizer"])])
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    #[test]
    fn queued_steps_are_timed_as_one() {
        let words = "bench --model vanilla --batch 4 --points 16 --repeats 2";
        let matches = Options::augment_args(Command::new("bench")).get_matches_from(words.split(' '));
        let options = Options::from_arg_matches(&matches).unwrap();
        for train in [true, false] {
            let mut bench = Bench::new(train, &options, Precision::Fp32, &Device::Cpu).unwrap();
            let mut times = Times::new();
            bench.queued_round(&mut times).unwrap();
            bench.queued_round(&mut times).unwrap();
            assert_eq!(times.len(), 2);
            assert!(times.iter().all(|ms| ms[4] > 0.0));
            assert_eq!(bench.learner.steps, if train { 6 } else { 0 });
        }
    }
}
