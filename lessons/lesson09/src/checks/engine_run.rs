//! Trainings by an engine, for the checks of exercise 9.7.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use canopy::{
    parallel::Link,
    precision::LossScale,
    shard::{EngineState, Outcome},
};
use grader::{Case, Verdict, draw, given};
use kit::{End, Ran, on_ranks};

use super::{all_finish, lists, mean, ranks, values};
use crate::Lesson09;

/// A loss scale that is halved after an overflow, and records its updates.
pub struct Recorder {
    scale: f64,
    updates: Arc<Mutex<Vec<bool>>>,
    pub fails: bool,
}

impl LossScale for Recorder {
    fn scale(&self) -> f64 {
        self.scale
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        self.updates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(found_inf);
        if self.fails {
            bail!("the scale's error");
        }
        if found_inf {
            self.scale /= 2.0;
        }
        Ok(())
    }
}

pub fn recorder(scale: f64) -> (Box<Recorder>, Arc<Mutex<Vec<bool>>>) {
    let updates = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder {
        scale,
        updates: updates.clone(),
        fails: false,
    };
    (Box::new(recorder), updates)
}

pub fn state(accumulation: usize, scaler: Box<dyn LossScale>, clip: f64) -> EngineState {
    EngineState {
        accumulation,
        micro_batches: 0,
        gradients: Vec::new(),
        scaler,
        clip,
    }
}

/// What is trained.
#[derive(Clone)]
pub struct Run {
    pub world: usize,
    pub accumulation: usize,
    pub scale: f64,
    pub clip: f64,
    pub params: Vec<f32>,
    /// The unscaled gradients of each micro-batch and rank.
    pub micro: Vec<Vec<Vec<f32>>>,
}

/// What a rank has after a micro-batch.
#[derive(Clone, Debug)]
pub struct After {
    pub outcome: Outcome,
    pub params: Vec<f32>,
    pub updates: usize,
    pub scale_updates: Vec<bool>,
    /// Gradients and micro-batches in the state.
    pub left: [usize; 2],
}

impl After {
    pub fn name(&self) -> &'static str {
        match self.outcome {
            Outcome::Accumulating => "Accumulating",
            Outcome::Skipped => "Skipped",
            Outcome::Taken { .. } => "Taken",
        }
    }
}

/// Compares what a rank has after a micro-batch, by its index, with the parameters and the norm of the last step.
type Compare = fn(&Case, usize, usize, &After, &[f64], f64) -> Verdict;

impl Run {
    pub fn new(world: usize, length: usize, accumulation: usize, steps: usize) -> Self {
        let mut draw = draw();
        Self {
            world,
            accumulation,
            scale: 8.0,
            clip: 0.0,
            params: draw.list(length, -1.0, 1.0),
            micro: (0..accumulation * steps)
                .map(|_| lists(&mut draw, world, length))
                .collect(),
        }
    }

    pub fn input(&self) -> String {
        format!(
            "{}, {} parameters, accumulation {}, scale {}, clip {}, micro-batches: {}",
            ranks(self.world),
            self.params.len(),
            self.accumulation,
            self.scale,
            self.clip,
            self.micro.len()
        )
    }

    /// Calls backward and step for each micro-batch, with SGD of learning rate 0.25.
    pub fn on_ranks(&self, answer: &Lesson09) -> Ran<Vec<After>> {
        let (answer, run) = (*answer, self.clone());
        on_ranks(self.world, move |end: &End| {
            let (scaler, recorded) = recorder(run.scale);
            let mut state = state(run.accumulation, scaler, run.clip);
            let (mut params, mut updates) = (run.params.clone(), 0);
            let mut all = Vec::new();
            for micro in &run.micro {
                let scale = state.scaler.scale() as f32;
                let scaled: Vec<f32> = micro[Link::rank(end)].iter().map(|g| g * scale).collect();
                (answer.engine_backward)(&mut state, &scaled)?;
                let outcome = (answer.engine_step)(&mut state, end, &mut params, &mut |p, g| {
                    updates += 1;
                    p.iter_mut().zip(g).for_each(|(p, g)| *p -= 0.25 * g);
                    Ok(())
                })?;
                all.push(After {
                    outcome,
                    params: params.clone(),
                    updates,
                    scale_updates: recorded.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                    left: [state.gradients.len(), state.micro_batches],
                });
            }
            Ok(all)
        })
    }

    /// The mean gradients of step `step`, in f64.
    fn mean(&self, step: usize) -> Vec<f64> {
        let all = &self.micro[step * self.accumulation..(step + 1) * self.accumulation];
        let means: Vec<Vec<f64>> = all.iter().map(|m| mean(m)).collect();
        let of = |i: usize| means.iter().map(|m| m[i]).sum::<f64>() / all.len() as f64;
        (0..self.params.len()).map(of).collect()
    }

    /// Tests outcomes and parameters after each step.
    pub fn check(&self, answer: &Lesson09) -> Verdict {
        self.compare(answer, |case, rank, i, after, params, _| {
            let what = format!("params after micro-batch {} on rank {rank}", i + 1);
            case.close(&what, &after.params, values(params))
        })
    }

    /// Tests outcomes, and the norm of each step.
    pub fn check_norm(&self, answer: &Lesson09) -> Verdict {
        self.compare(answer, |case, rank, _, after, _, norm| match after.outcome {
            // The sum of the squares may be one of f32 numbers.
            Outcome::Taken { norm: got } => {
                case.close(&format!("norm on rank {rank}"), got as f32, norm as f32)
            }
            _ => Ok(()),
        })
    }

    fn compare(&self, answer: &Lesson09, test: Compare) -> Verdict {
        let input = self.input();
        let case = given(&input).at_scale(1.0);
        let ran = self.on_ranks(answer);
        all_finish(&input, &ran)?;
        let mut params: Vec<f64> = self.params.iter().map(|&p| p.into()).collect();
        let mut expected = Vec::new();
        for step in 0..self.micro.len() / self.accumulation {
            let mean = self.mean(step);
            let norm = mean.iter().map(|g| g * g).sum::<f64>().sqrt();
            let taken = norm.is_finite();
            let factor = if self.clip > 0.0 && norm > self.clip {
                self.clip / norm
            } else {
                1.0
            };
            if taken {
                for (p, g) in params.iter_mut().zip(&mean) {
                    *p -= 0.25 * factor * g;
                }
            }
            expected.push((taken, norm, params.clone()));
        }
        for (rank, all) in ran.ranks.iter().flatten().enumerate() {
            for (i, after) in all.iter().enumerate() {
                let step = (i + 1) / self.accumulation;
                let ends = (i + 1) % self.accumulation == 0;
                let name = after.name();
                let right = match (ends, step) {
                    (true, step) if expected[step - 1].0 => "Taken",
                    (true, _) => "Skipped",
                    _ => "Accumulating",
                };
                let what = format!("outcome after micro-batch {} on rank {rank}", i + 1);
                case.equal(&what, name, right)?;
                let (norm, params) = match step {
                    0 => (f64::NAN, self.params.iter().map(|&p| p.into()).collect()),
                    _ => (expected[step - 1].1, expected[step - 1].2.clone()),
                };
                test(&case, rank, i, after, &params, norm)?;
            }
        }
        Ok(())
    }

    /// Makes `value` the gradient at `at` on rank `rank` in micro-batch `micro`.
    pub fn with(mut self, micro: usize, rank: usize, at: usize, value: f32) -> Self {
        self.micro[micro][rank][at] = value;
        self
    }
}
