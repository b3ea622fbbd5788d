//! canopy's side of the benchmark: its loader, network, loss and optimizer on synthetic clouds in memory.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use candle_core::{DType, Device, Tensor};
use canopy_data::{Cloud, CloudSource, Dataset, Philox, TreeRecord};

use super::Options;
use crate::kernels::Pass;
use crate::loader::{Augment, Collate, Features, Frame, Loader, Points};
use crate::model::{PointNet, PointNetConfig};
use crate::optim::OptimConfig;
use crate::precision::Precision;
use crate::profile;
use crate::train::{Loss, short::Learner};

/// Milliseconds of each timed step, by part.
#[derive(Debug, Default)]
pub struct Times {
    pub loader: Vec<f64>,
    pub forward: Vec<f64>,
    pub backward: Vec<f64>,
    pub optimizer: Vec<f64>,
}

impl Times {
    pub fn total(&self) -> Vec<f64> {
        let sum = |i: usize| self.loader[i] + self.forward[i] + self.backward[i] + self.optimizer[i];
        (0..self.forward.len()).map(sum).collect()
    }
}

/// Clouds with four times the points of a sample, uniform in a box as high as a tree.
#[derive(Debug)]
struct Synthetic {
    points: usize,
}

impl CloudSource for Synthetic {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        let mut random = Philox::new(1, index as u64);
        let point = |r: &mut Philox| [r.uniform() * 8.0, r.uniform() * 8.0, r.uniform() * 25.0];
        let xyz = (0..4 * self.points).map(|_| point(&mut random)).collect();
        Ok(Cloud {
            xyz,
            ..Cloud::default()
        })
    }
}

/// Network, optimizer and loader, ready for rounds.
pub struct Bench {
    train: bool,
    options: Options,
    learner: Learner,
    loader: Loader,
    step: u64,
}

impl Bench {
    pub fn new(train: bool, options: &Options, precision: Precision) -> Result<Self> {
        let config = PointNetConfig {
            kind: options.model,
            classes: options.classes,
            ..PointNetConfig::default()
        };
        let model = PointNet::new(&config, &Device::Cpu, DType::F32, 1)?;
        let optimizer = OptimConfig::adamw().build(model.params())?;
        let loss = Loss {
            smoothing: 0.1,
            class_weights: None,
            orthogonality: 0.001,
        };
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
        Ok(Self {
            train,
            options: options.clone(),
            learner: Learner {
                plain: options.plain,
                lowering: precision.lowering(&Device::Cpu),
                ..Learner::new(model, optimizer, loss)
            },
            loader: Loader::new(Arc::new(collate), options.workers, 2),
            step: 0,
        })
    }

    /// Takes one untimed step, then the timed ones.
    pub fn round(&mut self, times: &mut Times) -> Result<()> {
        let all: Vec<usize> = (0..self.options.batch).collect();
        // The loader prefetches no more batches than the round has.
        let mut batches = self.loader.epoch(self.step, vec![all; self.options.repeats + 1]);
        for timed in 0..=self.options.repeats {
            let start = Instant::now();
            let batch = batches.next().context("the loader ended early")??;
            let (points, labels) = batch.to_device(&Device::Cpu)?;
            let loaded = start.elapsed();
            let parts = if self.train {
                train(&mut self.learner, &points, &labels)?
            } else {
                let start = Instant::now();
                self.learner
                    .model
                    .forward(&points, &Pass::eval().plain(self.options.plain))?;
                [ms(start), 0.0, 0.0]
            };
            self.step += 1;
            if timed > 0 {
                // Inference times the network only, as PyTorch's side does.
                times.loader.push(if self.train {
                    loaded.as_secs_f64() * 1e3
                } else {
                    0.0
                });
                times.forward.push(parts[0]);
                times.backward.push(parts[1]);
                times.optimizer.push(parts[2]);
            }
        }
        Ok(())
    }
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Takes one training step. Returns the milliseconds of forward pass, backward pass and optimizer.
fn train(learner: &mut Learner, points: &Tensor, labels: &Tensor) -> Result<[f64; 3]> {
    let recording = profile::start(profile::Options::of(&Device::Cpu))?;
    learner.step((points, labels), 1e-3)?;
    let timeline = profile::stop(recording)?;
    let ms = |names: &[&str]| -> f64 {
        let of = timeline.spans.iter().filter(|span| names.contains(&&*span.name));
        of.map(|span| span.duration() as f64 / 1e6).sum()
    };
    Ok([ms(&["forward", "loss"]), ms(&["backward"]), ms(&["optimizer"])])
}
