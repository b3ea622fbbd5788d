//! One rank of a run: its step, and how it meets the others.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};

use super::{
    Pieces,
    control::Control,
    ending::Reports,
    weights::{added, digest, like, numbers, set},
};
use crate::{
    kernels::{Pass, Share, SumOverRanks},
    loader::Batch,
    model::PointNet,
    optim::{Optimizer, clip_grad_norm},
    parallel::{Collective, Rank, Reducer, Traffic},
    train::{Config, Loss, step::forward_loss},
};

/// What the ranks of a run have in common.
pub struct Meeting {
    pub config: Config,
    pub pieces: Pieces,
    /// Weight of each species in the loss, if they are weighed.
    pub class_weights: Option<Vec<f32>>,
    /// The species' number of each record.
    pub species: Vec<usize>,
    pub device: Device,
    /// Threads for a rank's arithmetic.
    pub threads: usize,
}

/// What the ranks' meeting cost one of them so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankStats {
    /// Steps taken.
    pub steps: u64,
    /// Time of the steps, the loader's aside.
    pub seconds: f64,
    /// Time that sums of gradients took, waiting for other ranks included.
    pub communicating: f64,
    /// Of that, after the backward walk's end; the rest was hidden behind it.
    pub waited: f64,
    /// Gradients that this rank has sent.
    pub gradients: Traffic,
    /// All else it has sent: sums of batch norm, and what is compared after each step.
    pub others: Traffic,
}

impl RankStats {
    /// What a rank sent in a step, and what of the time for it was hidden; none of a run without ranks.
    pub fn line(&self) -> Option<String> {
        let steps = self.steps.max(1) as f64;
        let each = |bytes: u64| bytes as f64 / steps / 1e6;
        let ms = |seconds: f64| seconds / steps * 1e3;
        (self.steps > 0).then(|| {
            format!(
                "a step of rank 0: {:.1} ms; sent {:.2} MB of gradients, {:.2} MB for batch norm;\n\
                 sums of gradients {:.1} ms, {:.1} ms of it after the backward walk",
                ms(self.seconds),
                each(self.gradients.bytes),
                each(self.others.bytes),
                ms(self.communicating),
                ms(self.waited)
            )
        })
    }
}

/// What the ranks agree on after a step.
pub struct Met {
    /// The loss over the whole batch.
    pub loss: f64,
    /// Clouds of the whole batch that were named rightly.
    pub correct: f64,
    /// A rank was asked to stop.
    pub stop: bool,
}

enum Gradients {
    /// In buckets, while the walk goes on.
    Overlapped(Reducer),
    /// All at once, after it.
    AtOnce(Rank),
}

/// One rank.
pub struct Member {
    rank: usize,
    meeting: Meeting,
    control: Arc<Control>,
    gradients: Gradients,
    cores: rayon::ThreadPool,
    reports: Reports,
    stats: RankStats,
}

impl Member {
    pub fn new(
        meeting: Meeting,
        model: &PointNet,
        control: Rank,
        gradients: Rank,
        reports: Reports,
    ) -> Result<Self> {
        let rank = Collective::rank(&control);
        let Meeting {
            config,
            pieces,
            threads,
            ..
        } = &meeting;
        let sizes: Vec<usize> = model.params().iter().map(|(_, p)| p.elem_count()).collect();
        let gradients = if pieces.overlap {
            let bytes: Vec<_> = sizes.iter().map(|n| (n * size_of::<f32>(), "f32")).collect();
            // A bucket may wait for a rank that is slow but alive.
            let patience = Duration::from_secs_f64(2.0 * config.rank_deadline);
            let buckets = (pieces.buckets)(&bytes, pieces.sizes);
            Gradients::Overlapped(Reducer::new(Box::new(gradients), sizes, buckets, patience)?)
        } else {
            Gradients::AtOnce(gradients)
        };
        let cores = rayon::ThreadPoolBuilder::new()
            .num_threads(*threads)
            .thread_name(move |i| format!("rank-{rank}-core-{i}"))
            .build()
            .context("threads for a rank could not be started")?;
        let control = Arc::new(Control::new(control));
        Ok(Self {
            rank,
            meeting,
            control,
            gradients,
            cores,
            reports,
            stats: RankStats::default(),
        })
    }

    /// Says what this rank is about to do: a sign of life, too.
    pub fn doing(&self, what: &str) {
        self.reports.doing(self.rank, what);
        self.control.link().doing(what);
    }

    /// Says what this rank is doing where it does it alone and for long.
    ///
    /// # Errors
    /// Another has ended in the meantime.
    pub fn alive(&self, what: &str) -> Result<()> {
        self.doing(what);
        self.reports.fault().map_or(Ok(()), Err)
    }

    /// Waits until every rank has come here.
    pub fn barrier(&self) -> Result<()> {
        self.control.link().barrier()
    }

    pub fn stats(&self) -> RankStats {
        RankStats {
            others: self.control.link().traffic(),
            ..self.stats
        }
    }

    /// Gives rank 0's parameters and running statistics to all.
    pub fn broadcast(&mut self, model: &PointNet) -> Result<()> {
        self.doing("starting: at rank 0's weights");
        for (_, var) in model.params().iter().chain(&model.buffers()) {
            let mut numbers = numbers(var)?;
            self.control.link().broadcast(0, &mut numbers)?;
            if self.rank > 0 {
                set(var, numbers)?;
            }
        }
        Ok(())
    }

    /// One optimizer step over the whole batch, of which this rank has its share: `whole` are the records of each
    /// micro-batch, `own` this rank's clouds of them. `stop` asks all ranks to stop after it.
    pub fn step(
        &mut self,
        model: &PointNet,
        optimizer: &mut dyn Optimizer,
        (whole, own): (&[Vec<usize>], &[Batch]),
        loss: &Loss,
        (step, rate): (u64, f64),
        stop: bool,
    ) -> Result<Met> {
        let began = Instant::now();
        self.doing(&format!("in step {step}, forward and backward"));
        let (value, correct, mut grads) = self
            .gradients(model, (whole, own), loss, step)
            .map_err(|error| self.control.fault().unwrap_or(error))?;
        self.doing(&format!("in step {step}, at the optimizer"));
        let clip = self.meeting.config.clip;
        self.cores.install(|| -> Result<()> {
            if clip > 0.0 {
                clip_grad_norm(&mut grads, clip)?;
            }
            optimizer.step(&grads, rate)
        })?;
        let met = self.compare(
            model,
            [value as f32, correct as f32, f32::from(u8::from(stop))],
            step,
        )?;
        self.stats.steps += 1;
        self.stats.seconds += began.elapsed().as_secs_f64();
        Ok(met)
    }

    /// This rank's part of the loss and of the hits, and the gradients of the whole batch.
    fn gradients(
        &mut self,
        model: &PointNet,
        (whole, own): (&[Vec<usize>], &[Batch]),
        loss: &Loss,
        step: u64,
    ) -> Result<(f64, f64, Vec<Tensor>)> {
        let params = model.params();
        let mut held: Vec<Vec<f32>> = Vec::new();
        let (mut value, mut correct) = (0.0, 0.0);
        let mut grads = Vec::new();
        for (i, batch) in own.iter().enumerate() {
            let (points, labels) = batch.to_device(&self.meeting.device)?;
            let factors = self.factors(whole, &batch.records);
            let pass = self.pass(step, i);
            let (cores, gradients) = (&self.cores, &mut self.gradients);
            let last = i + 1 == own.len();
            let (part, hits) = cores.install(|| -> Result<_> {
                let (total, hits) = forward_loss(model, (&points, &labels), loss, &pass, factors)?;
                let reducer = match gradients {
                    Gradients::Overlapped(reducer) if last => Some(reducer),
                    _ => None,
                };
                let mut reducer = reducer;
                let own = model.gradients_with(&total, &pass, &mut |p, gradient| match &mut reducer {
                    Some(reducer) => reducer.ready(p, &added(&held, p, gradient)?),
                    None => Ok(()),
                })?;
                if reducer.is_none() {
                    held = own
                        .iter()
                        .enumerate()
                        .map(|(p, g)| added(&held, p, g))
                        .collect::<Result<_>>()?;
                }
                Ok((total, hits))
            })?;
            value += f64::from(part.to_dtype(DType::F32)?.to_scalar::<f32>()?);
            correct += f64::from(hits.to_scalar::<f32>()?);
        }
        self.doing(&format!("in step {step}, at the sums of gradients"));
        let began = Instant::now();
        match &mut self.gradients {
            Gradients::Overlapped(reducer) => {
                let (means, reduced) = reducer.finish()?;
                for ((_, param), mean) in params.iter().zip(means) {
                    grads.push(like(param, mean)?);
                }
                self.stats.communicating += reduced.communicating.as_secs_f64();
                self.stats.waited += reduced.waited.as_secs_f64();
                self.stats.gradients.messages += reduced.traffic.messages;
                self.stats.gradients.bytes += reduced.traffic.bytes;
            }
            Gradients::AtOnce(link) => {
                for ((_, param), sum) in params.iter().zip(held) {
                    grads.push(like(param, sum)?);
                }
                (self.meeting.pieces.average)(link, &mut grads)?;
                let took = began.elapsed().as_secs_f64();
                self.stats.communicating += took;
                self.stats.waited += took;
                self.stats.gradients = link.traffic();
            }
        }
        Ok((value, correct, grads))
    }

    /// What this rank's mean loss, and its orthogonality term, are multiplied by, so that the mean over the ranks is that of
    /// the whole batch: 1 where all have as many clouds.
    fn factors(&self, whole: &[Vec<usize>], own: &[usize]) -> (f64, f64) {
        let weight = |records: &[usize]| -> f64 {
            match &self.meeting.class_weights {
                Some(of) => records
                    .iter()
                    .map(|&r| f64::from(of[self.meeting.species[r]]))
                    .sum(),
                None => records.len() as f64,
            }
        };
        let world = self.meeting.config.ranks as f64;
        let (all, clouds): (f64, usize) = (
            whole.iter().map(|w| weight(w)).sum(),
            whole.iter().map(Vec::len).sum(),
        );
        (
            world * weight(own) / all,
            world * own.len() as f64 / clouds as f64,
        )
    }

    fn pass(&self, step: u64, micro: usize) -> Pass {
        let config = &self.meeting.config;
        let sums: Option<Arc<dyn SumOverRanks>> = match config.sync_bn {
            true => Some(self.control.clone()),
            false => None,
        };
        let count = step * config.accumulate as u64 + micro as u64;
        Pass::train(config.seed, count).plain(config.plain).shared(Share {
            rank: self.rank,
            world_size: config.ranks,
            sums,
        })
    }

    /// Holds that all ranks have the same parameters, to the bit, and adds up their `figures`: loss, hits, whether to stop.
    fn compare(&self, model: &PointNet, figures: [f32; 3], step: u64) -> Result<Met> {
        let digest = digest(model, self.meeting.config.sync_bn)?;
        // A u64 in four numbers that f32 holds exactly.
        let parts = [0, 16, 32, 48].map(|shift| f32::from((digest >> shift) as u16));
        let mine: Vec<f32> = parts.into_iter().chain(figures).collect();
        let whole = self.control.gather(&mine)?;
        let ranks: Vec<&[f32]> = whole.chunks_exact(mine.len()).collect();
        for (rank, theirs) in ranks.iter().enumerate() {
            ensure!(
                theirs[..4] == ranks[0][..4],
                "after step {step} the parameters of rank {rank} and of rank 0 differ: their gradients were not the same"
            );
        }
        let sum = |i: usize| ranks.iter().map(|r| f64::from(r[i])).sum::<f64>();
        Ok(Met {
            loss: sum(4) / ranks.len() as f64,
            correct: sum(5),
            stop: sum(6) != 0.0,
        })
    }
}
