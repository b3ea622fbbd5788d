//! Whole training steps of a small PointNet by the kernels, against the CPU's steps; and an evaluation.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Device as Cpu, Tensor, Var};
use canopy::kernels::device::MultiTensor;
use canopy::kernels::multi_tensor::AdamStep;
use canopy::kernels::{Lowering, Pass};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::{AdamConfig, AdamState, Optimizer, adam_step, clip_grad_norm};
use canopy::precision::{DynamicScaler, GradScaler};
use canopy::train::{Loss, short::Learner};

use crate::common::*;
use crate::emulated::EmulatedGrid;

const CLIP: f64 = 0.5;

/// Large enough that a weight's step does not turn on the sign of a gradient near 0.
const ADAM: AdamConfig = AdamConfig {
    beta1: 0.9,
    beta2: 0.999,
    eps: 1e-2,
    weight_decay: 0.01,
    decoupled: true,
};

/// AdamW with clipped gradients: on the CPU, or by the kernels.
pub struct AdamW {
    params: Vec<Var>,
    state: AdamState,
    kernels: Option<MultiTensor>,
}

impl AdamW {
    pub fn new(model: &PointNet, kernels: Option<MultiTensor>) -> Self {
        let params: Vec<Var> = model.params().into_iter().map(|(_, var)| var).collect();
        let state = AdamState::zeros_like(&params).unwrap();
        Self {
            params,
            state,
            kernels,
        }
    }
}

impl Optimizer for AdamW {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        let Some(kernels) = &self.kernels else {
            let mut grads = grads.to_vec();
            clip_grad_norm(&mut grads, CLIP)?;
            return Ok(adam_step(&self.params, &grads, &mut self.state, lr, &ADAM)?);
        };
        self.state.step += 1;
        let step = AdamStep {
            lr,
            beta1: ADAM.beta1,
            beta2: ADAM.beta2,
            eps: ADAM.eps,
            weight_decay: ADAM.weight_decay,
            decoupled: ADAM.decoupled,
            step: self.state.step,
            gradient_factor: 1.0,
        };
        let lists = [&self.params, &self.state.mean, &self.state.square];
        let [w, m, v] = lists.map(|list| list.iter().map(Var::as_tensor).collect::<Vec<_>>());
        let grads: Vec<&Tensor> = grads.iter().collect();
        let norm = kernels.norm(&grads, 1.0, CLIP)?;
        let clipped = kernels.scaled(&grads, &norm)?;
        let clipped: Vec<&Tensor> = clipped.iter().collect();
        Ok(kernels.adam(&w, &clipped, [&m, &v], &step)?)
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let mean = self.state.mean.iter().map(|m| m.as_tensor().clone());
        Ok(mean.map(|mean| ("mean gradients".to_owned(), mean)).collect())
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        Ok(())
    }
}

/// How steps are taken.
#[derive(Clone, Default)]
pub struct Run {
    /// On the CPU without one.
    pub grid: Option<Arc<EmulatedGrid>>,
    pub lowering: Option<Arc<dyn Lowering>>,
    /// The first loss scale.
    pub scale: Option<f64>,
}

impl Run {
    /// The logits of an evaluation.
    pub fn evaluate(&self, model: &PointNet, points: &Tensor, mask: Option<&Tensor>) -> Vec<f64> {
        let mut pass = Pass::eval().lowered(self.lowering.clone());
        if let Some(grid) = &self.grid {
            pass = pass.with_launcher(grid.clone());
        }
        let output = match mask {
            Some(mask) => model.forward_masked(points, mask, &pass),
            None => model.forward(points, &pass),
        };
        flat(&output.unwrap().logits)
    }
}

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

/// A small network on the CPU.
pub fn small(kind: Kind) -> PointNet {
    network(kind, 16, &Cpu::Cpu)
}

pub fn points(seed: u64, [clouds, points]: [usize; 2], device: &Cpu) -> Tensor {
    Tensor::from_vec(random(seed, clouds * points * 3), (clouds, points, 3), device).unwrap()
}

/// A batch of clouds of 20 points on the CPU.
pub fn batch(seed: u64, clouds: usize) -> Tensor {
    points(seed, [clouds, 20], &Cpu::Cpu)
}

/// Takes steps on `clouds` clouds. Returns named values: loss, skipped steps and scale of each; parameters, moments and
/// running statistics after them; logits of an evaluation.
pub fn steps(kind: Kind, count: u64, clouds: usize, run: &Run) -> Vec<(String, Vec<f64>)> {
    let model = small(kind);
    let kernels = run.grid.clone().map(|grid| MultiTensor::new(grid));
    let optimizer = Box::new(AdamW::new(&model, kernels));
    let loss = Loss {
        smoothing: 0.1,
        class_weights: Some(Tensor::new(&[1.0_f32, 0.5, 2.0], &Cpu::Cpu).unwrap()),
        orthogonality: 0.001,
    };
    let scaler = |scale| Box::new(GradScaler::new(DynamicScaler::new(scale, 2000).unwrap()));
    let mut learner = Learner {
        seed: 7,
        lowering: run.lowering.clone(),
        launcher: run.grid.clone().map(|grid| grid as _),
        scaler: run.scale.map(|scale| scaler(scale) as _),
        ..Learner::new(model, optimizer, loss)
    };
    let labels = Tensor::from_iter((0..clouds as u32).map(|i| i * 2 % CLASSES as u32), &Cpu::Cpu).unwrap();
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
        let params = learner.model.params();
        for ((name, var), (state, mean)) in params.iter().zip(learner.optimizer.state().unwrap()) {
            add("parameters", name, var);
            add(&state, name, &mean);
        }
        for (name, var) in &learner.model.buffers() {
            add("running statistics", name, var);
        }
    }
    let logits = run.evaluate(&learner.model, &batch(9, clouds), None);
    values.push(("logits of the evaluation".to_owned(), logits));
    values
}

#[test]
fn two_steps_and_an_evaluation_equal_those_of_the_cpu() {
    for kind in [Kind::Full, Kind::Vanilla] {
        let Some(grid) = EmulatedGrid::new() else { return };
        let run = Run {
            grid: Some(grid.clone()),
            ..Run::default()
        };
        let (found, expected) = (steps(kind, 2, 3, &run), steps(kind, 2, 3, &Run::default()));
        for ((name, found), (_, expected)) in found.iter().zip(&expected) {
            close(&format!("{kind}: {name}"), found, expected, 1e-3);
        }
        let launched = grid.launched.lock().unwrap();
        let mut kernels = vec![
            "adam",
            "add_bias_f32",
            "backward_f32",
            "cross_entropy_f32",
            "dropout_f32",
            "filter_exact",
            "unscale_and_norm",
            "widest_dx_f32",
        ];
        if kind == Kind::Full {
            kernels.extend(["matrix_gradient_f32", "orthogonality_backward_f32"]);
        }
        for kernel in kernels {
            assert!(launched.contains(kernel), "{kernel} was not launched");
        }
    }
}
