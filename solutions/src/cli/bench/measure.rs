//! canopy's side of the benchmark: its network, loss and optimizer on a synthetic batch that is on the device.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy_data::Philox;

use super::Options;
use crate::{
    kernels::{Lowering, Pass},
    model::{PointNet, PointNetConfig},
    optim::OptimConfig,
    precision::{GradScaler, LossScaling, Precision},
    profile,
    train::{Loss, memory::in_use, short::Learner},
};

/// Milliseconds of each timed step: forward pass, backward pass, optimizer, and all of them. Of steps that were queued, the mean
/// of each round, without its parts.
pub type Times = Vec<[f64; 4]>;

/// Half the size of the box of the points: as high as a tree, in the unit sphere.
const BOX: [f32; 3] = [0.29, 0.29, 0.91];

/// In rounds of at least this many queued steps, the memory in use is read, which waits for the device.
const COUNTED: usize = 100;

/// Network, optimizer and batch, ready for rounds.
pub struct Bench {
    train: bool,
    plain: bool,
    repeats: usize,
    device: Device,
    /// Whether steps wait for each other only at the end of a round, as on a GPU.
    queued: bool,
    learner: Learner,
    lowering: Option<Arc<dyn Lowering>>,
    batch: (Tensor, Tensor),
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
        let lowering = precision.lowering(device);
        let scales = !device.is_cpu();
        let scaler = scales.then(|| LossScaling::Auto.scaler(precision)).flatten();
        Ok(Self {
            train,
            plain: options.plain,
            repeats: options.repeats,
            device: device.clone(),
            queued: !device.is_cpu(),
            learner: Learner {
                plain: options.plain,
                lowering: lowering.clone(),
                scaler: scaler.map(|scaler| Box::new(GradScaler::new(scaler)) as Box<_>),
                ..Learner::new(model, optimizer, Loss::USUAL)
            },
            lowering,
            batch: synthetic(options.batch, options.points, options.classes, device)?,
            in_use: None,
        })
    }

    /// Takes one untimed step, then the timed ones.
    pub fn round(&mut self, times: &mut Times) -> Result<()> {
        self.step()?;
        self.device.synchronize()?;
        let start = Instant::now();
        for step in 1..=self.repeats {
            if self.queued {
                self.step()?;
            } else {
                times.push(self.timed_step()?);
            }
            if !self.queued || self.repeats >= COUNTED {
                self.count_memory(step);
            }
        }
        if self.queued {
            self.device.synchronize()?;
            times.push([0.0, 0.0, 0.0, ms(start) / self.repeats as f64]);
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        if self.train {
            self.learner.step((&self.batch.0, &self.batch.1), 1e-3)?;
        } else {
            let pass = Pass::eval().plain(self.plain).lowered(self.lowering.clone());
            self.learner.model.forward(&self.batch.0, &pass)?;
        }
        Ok(())
    }

    fn timed_step(&mut self) -> Result<[f64; 4]> {
        if !self.train {
            let start = Instant::now();
            self.step()?;
            let forward = ms(start);
            return Ok([forward, 0.0, 0.0, forward]);
        }
        let recording = profile::start(&self.device)?;
        self.step()?;
        let timeline = profile::stop(recording)?;
        let ms = |names: &[&str]| -> f64 {
            let of = timeline.spans.iter().filter(|span| names.contains(&&*span.name));
            of.map(|span| span.duration() as f64 / 1e6).sum()
        };
        let [forward, backward, optimizer] =
            [ms(&["forward", "loss"]), ms(&["backward"]), ms(&["optimizer"])];
        Ok([forward, backward, optimizer, forward + backward + optimizer])
    }

    /// Keeps the bytes in use after a tenth of the steps, and after all.
    fn count_memory(&mut self, step: usize) {
        let looks = step == self.repeats.div_ceil(10) || step == self.repeats;
        if let Some(memory) = looks.then(|| in_use(&self.device)).flatten() {
            let [first, _] = self.in_use.unwrap_or([memory.now; 2]);
            self.in_use = Some([first, memory.now]);
        }
    }
}

/// Random clouds of as many points, and a class of each.
pub fn synthetic(clouds: usize, points: usize, classes: usize, device: &Device) -> Result<(Tensor, Tensor)> {
    let mut random = Philox::new(1, 0);
    let all = (0..clouds * points).flat_map(|_| BOX.map(|half| half * (2.0 * random.uniform() - 1.0)));
    let all = Tensor::from_iter(all, device)?.reshape((clouds, points, 3))?;
    let labels = (0..clouds as u32).map(|i| i % classes as u32);
    Ok((all, Tensor::from_iter(labels, device)?))
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
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
            bench.queued = true;
            let mut times = Times::new();
            bench.round(&mut times).unwrap();
            bench.round(&mut times).unwrap();
            assert_eq!(times.len(), 2);
            assert!(times.iter().all(|ms| ms[3] > 0.0));
            assert_eq!(bench.learner.steps, if train { 6 } else { 0 });
        }
    }
}
