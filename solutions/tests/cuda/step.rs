//! Whole training steps of a small PointNet by the kernels, against the CPU's steps; and an evaluation.

use std::sync::Arc;

use candle_core::{DType, Device as Cpu, Tensor};
use canopy::kernels::device::Launcher;
use canopy::kernels::{Lowering, Pass};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::{AdamConfig, OptimConfig};
use canopy::precision::{DynamicScaler, GradScaler};
use canopy::train::{Loss, short::Learner};

use crate::common::*;
use crate::emulated::EmulatedGrid;

const CLASSES: usize = 3;

pub fn network(kind: Kind, width: usize, device: &Cpu) -> PointNet {
    let config = PointNetConfig {
        kind,
        width,
        classes: CLASSES,
        ..PointNetConfig::default()
    };
    PointNet::new(&config, device, DType::F32, 1).unwrap()
}

pub fn points(seed: u64, [clouds, points]: [usize; 2], device: &Cpu) -> Tensor {
    Tensor::from_vec(random(seed, clouds * points * 3), (clouds, points, 3), device).unwrap()
}

/// A batch of clouds of 20 points on the CPU.
pub fn batch(seed: u64, clouds: usize) -> Tensor {
    points(seed, [clouds, 20], &Cpu::Cpu)
}

/// The logits of an evaluation.
pub fn evaluate(learner: &Learner, points: &Tensor, mask: Option<&Tensor>) -> Tensor {
    let mut pass = Pass::eval().lowered(learner.lowering.clone());
    if let Some(launcher) = &learner.launcher {
        pass = pass.with_launcher(launcher.clone());
    }
    let output = match mask {
        Some(mask) => learner.model.forward_masked(points, mask, &pass),
        None => learner.model.forward(points, &pass),
    };
    output.unwrap().logits
}

/// How steps are taken. Their optimizer runs on the CPU; `optimizers` compares it with its kernels bit by bit.
#[derive(Clone, Default)]
pub struct Run {
    /// On the CPU without one.
    pub grid: Option<Arc<EmulatedGrid>>,
    pub lowering: Option<Arc<dyn Lowering>>,
    /// The first loss scale.
    pub scale: Option<f64>,
}

impl Run {
    /// Trains a small network with AdamW, all of whose penalties and weights count.
    pub fn learner(&self, kind: Kind) -> Learner {
        let model = network(kind, 16, &Cpu::Cpu);
        let optimizer = OptimConfig::AdamW(AdamConfig {
            // Large enough that a weight's step does not turn on the sign of a gradient near 0.
            eps: 1e-2,
            weight_decay: 0.01,
            ..AdamConfig::default()
        });
        let optimizer = optimizer.build(model.params()).unwrap();
        let loss = Loss {
            smoothing: 0.1,
            class_weights: Some(Tensor::new(&[1.0_f32, 0.5, 2.0], &Cpu::Cpu).unwrap()),
            orthogonality: 0.001,
        };
        let scaler = |scale| GradScaler::new(DynamicScaler::new(scale, 2000).unwrap());
        Learner {
            clip: 0.5,
            seed: 7,
            lowering: self.lowering.clone(),
            launcher: self.grid.clone().map(|grid| grid as Arc<dyn Launcher>),
            scaler: self.scale.map(|scale| Box::new(scaler(scale)) as _),
            ..Learner::new(model, optimizer, loss)
        }
    }

    /// Takes steps on `clouds` clouds. Returns named values: loss, skipped steps and scale of each; parameters, moments and
    /// running statistics after them; logits of an evaluation.
    pub fn steps(&self, kind: Kind, count: u64, clouds: usize) -> Vec<(String, Vec<f64>)> {
        let mut learner = self.learner(kind);
        let labels = (0..clouds as u32).map(|i| i * 2 % CLASSES as u32);
        let labels = Tensor::from_iter(labels, &Cpu::Cpu).unwrap();
        let mut values = Vec::new();
        for i in 0..count {
            let loss = learner.step((&batch(i, clouds), &labels), 0.01).unwrap();
            let scale = learner.scaler.as_ref().map_or(1.0, |scaler| scaler.scale());
            values.push((format!("step {i}: loss"), flat(&loss)));
            values.push((format!("step {i}: skipped"), vec![learner.skipped as f64]));
            values.push((format!("step {i}: next scale"), vec![scale]));
            let mut add = |what: &str, name: &str, t: &Tensor| {
                values.push((format!("step {i}: {what} of {name}"), flat(t)));
            };
            for (name, var) in &learner.model.params() {
                add("parameters", name, var);
            }
            for (name, state) in &learner.optimizer.state().unwrap() {
                if let Some(name) = name.strip_prefix("exp_avg.") {
                    add("mean gradients", name, state);
                }
            }
            for (name, var) in &learner.model.buffers() {
                add("running statistics", name, var);
            }
        }
        let logits = flat(&evaluate(&learner, &batch(9, clouds), None));
        values.push(("logits of the evaluation".to_owned(), logits));
        values
    }
}

#[test]
fn two_steps_and_an_evaluation_equal_those_of_the_cpu() {
    for kind in [Kind::Full, Kind::Vanilla] {
        let Some(grid) = EmulatedGrid::new() else { return };
        let run = Run {
            grid: Some(grid.clone()),
            ..Run::default()
        };
        let (found, expected) = (run.steps(kind, 2, 3), Run::default().steps(kind, 2, 3));
        for ((name, found), (_, expected)) in found.iter().zip(&expected) {
            close(&format!("{kind}: {name}"), found, expected, 1e-3);
        }
        // What the second step needs, the first one has uploaded.
        let one_step = EmulatedGrid::default();
        let run = Run {
            grid: Some(Arc::new(one_step.clone())),
            ..Run::default()
        };
        run.steps(kind, 1, 3);
        assert!(grid.constants.uploads() > 0 && grid.constants.uploads() == one_step.constants.uploads());
        grid.assert_launched(&["add_bias_f32", "backward_f32", "cross_entropy_f32", "dropout_f32"]);
        grid.assert_launched(&["filter_exact", "widest_dx_f32"]);
        if kind == Kind::Full {
            grid.assert_launched(&["matrix_gradient_f32", "orthogonality_backward_f32"]);
        }
    }
}
