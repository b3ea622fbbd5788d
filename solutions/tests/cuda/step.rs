//! A whole training step of a small PointNet by the kernels, against the CPU's step; and an evaluation.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Device as Cpu, Tensor, Var};
use canopy::kernels::Pass;
use canopy::kernels::device::MultiTensor;
use canopy::kernels::multi_tensor::AdamStep;
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::{AdamConfig, AdamState, Optimizer, adam_step, clip_grad_norm};
use canopy::train::{Loss, train_step};

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
struct AdamW {
    params: Vec<Var>,
    state: AdamState,
    kernels: Option<MultiTensor>,
}

impl AdamW {
    fn new(model: &PointNet, kernels: Option<MultiTensor>) -> Self {
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
        let tensors = |list: &'_ [Var]| list.iter().map(|v| v.as_detached_tensor()).collect::<Vec<_>>();
        let [w, m, v] = [&self.params, &self.state.mean, &self.state.square].map(|list| tensors(list));
        let [w, m, v] = [&w, &m, &v].map(|list| list.iter().collect::<Vec<_>>());
        let grads: Vec<&Tensor> = grads.iter().collect();
        let norm = kernels.norm(&grads, 1.0, CLIP)?;
        Ok(kernels.adam(&w, &grads, [&m, &v], &step, Some(&norm))?)
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        Ok(Vec::new())
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        Ok(())
    }
}

/// The loss of two steps; parameters, moments and running statistics after them; logits of an evaluation.
fn two_steps(kind: Kind, grid: Option<&Arc<EmulatedGrid>>) -> Vec<(String, Vec<f64>)> {
    let config = PointNetConfig {
        kind,
        width: 16,
        classes: 3,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Cpu::Cpu, DType::F32, 1).unwrap();
    let on = |pass: Pass| match grid {
        Some(grid) => pass.with_launcher(grid.clone()),
        None => pass,
    };
    let (clouds, points) = (3, 20);
    let mut optimizer = AdamW::new(&model, grid.map(|grid| MultiTensor::new(grid.clone())));
    let loss = Loss {
        smoothing: 0.1,
        class_weights: Some(Tensor::new(&[1.0_f32, 0.5, 2.0], &Cpu::Cpu).unwrap()),
        orthogonality: 0.001,
    };
    let labels = Tensor::new(&[0_u32, 2, 1], &Cpu::Cpu).unwrap();
    let batch =
        |seed| Tensor::from_vec(random(seed, clouds * points * 3), (clouds, points, 3), &Cpu::Cpu).unwrap();
    let mut found = Vec::new();
    for step in 0..2 {
        let points = batch(step);
        let pass = on(Pass::train(7, step));
        let (value, correct) = train_step(
            &model,
            &mut optimizer,
            (&points, &labels),
            &loss,
            &pass,
            0.01,
            0.0,
        )
        .unwrap();
        found.push((format!("loss of step {step}"), flat(&value)));
        found.push((format!("correct of step {step}"), flat(&correct)));
    }
    let logits = model.forward(&batch(9), &on(Pass::eval())).unwrap().logits;
    found.push(("logits".to_owned(), flat(&logits)));
    for ((name, var), mean) in model.params().iter().zip(&optimizer.state.mean) {
        found.push((name.clone(), flat(var.as_tensor())));
        found.push((format!("mean gradient of {name}"), flat(mean.as_tensor())));
    }
    found.extend(
        model
            .buffers()
            .iter()
            .map(|(name, var)| (name.clone(), flat(var.as_tensor()))),
    );
    found
}

#[test]
fn two_steps_and_an_evaluation_equal_those_of_the_cpu() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for kind in [Kind::Full, Kind::Vanilla] {
        let (found, expected) = (two_steps(kind, Some(&grid)), two_steps(kind, None));
        for ((name, found), (_, expected)) in found.iter().zip(&expected) {
            close(&format!("{kind}: {name}"), found, expected, 1e-3);
        }
    }
    let launched = grid.launched.lock().unwrap();
    for kernel in [
        "adam",
        "add_bias_f32",
        "backward_f32",
        "cross_entropy_f32",
        "dropout_f32",
        "filter_exact",
        "matrix_gradient_f32",
        "orthogonality_backward_f32",
        "unscale_and_norm",
        "widest_dx_f32",
    ] {
        assert!(launched.contains(kernel), "{kernel} was not launched");
    }
}
