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
use canopy::precision::{DynamicScaler, GradScaler, LossScale};
use canopy::train::{Loss, MicroBatch, Step};

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
    /// `pass` as it runs.
    pub fn pass(&self, pass: Pass) -> Pass {
        let pass = pass.lowered(self.lowering.clone());
        match &self.grid {
            Some(grid) => pass.with_launcher(grid.clone()),
            None => pass,
        }
    }
}

/// What steps left: named values, and the number of uploads after each step.
pub struct Outcome {
    pub values: Vec<(String, Vec<f64>)>,
    pub uploads: Vec<usize>,
}

const CLASSES: usize = 3;

/// Takes steps on `clouds` clouds: loss, whether the optimizer stepped, and the scale of each; parameters, moments and running
/// statistics after them; logits of an evaluation.
pub fn steps(kind: Kind, count: u64, clouds: usize, run: &Run) -> Outcome {
    let config = PointNetConfig {
        kind,
        width: 16,
        classes: CLASSES,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Cpu::Cpu, DType::F32, 1).unwrap();
    let kernels = run.grid.clone().map(|grid| MultiTensor::new(grid));
    let mut optimizer = AdamW::new(&model, kernels);
    let loss = Loss {
        smoothing: 0.1,
        class_weights: Some(Tensor::new(&[1.0_f32, 0.5, 2.0], &Cpu::Cpu).unwrap()),
        orthogonality: 0.001,
    };
    let labels: Vec<u32> = (0..clouds as u32).map(|i| i * 2 % CLASSES as u32).collect();
    let labels = Tensor::new(labels, &Cpu::Cpu).unwrap();
    let batch = |seed| Tensor::from_vec(random(seed, clouds * 20 * 3), (clouds, 20, 3), &Cpu::Cpu).unwrap();
    let new = |scale| GradScaler::new(DynamicScaler::new(scale, 2000).unwrap());
    let mut scaler = run.scale.map(new);
    let (mut values, mut uploads) = (Vec::new(), Vec::new());
    for i in 0..count {
        let micro = MicroBatch::new((batch(i), labels.clone()), run.pass(Pass::train(7, i)));
        let mut step = Step {
            scaler: scaler.as_mut().map(|s| s as &mut GradScaler<dyn LossScale>),
            ..Step::new(&model, &mut optimizer, &loss)
        };
        let stepped = step.take(&[micro], 0.01).unwrap();
        let figures = &stepped.figures[0];
        let scale = scaler.as_ref().map_or(1.0, GradScaler::scale);
        values.push((format!("step {i}: loss"), flat(&figures.loss)));
        values.push((
            format!("step {i}: taken and next scale"),
            vec![f64::from(u8::from(stepped.taken)), scale],
        ));
        uploads.extend(run.grid.iter().map(|grid| grid.constants.uploads()));
        let mut add = |what: &str, name: &str, t: &Tensor| {
            values.push((format!("step {i}: {what} of {name}"), flat(t)));
        };
        for ((name, var), mean) in model.params().iter().zip(&optimizer.state.mean) {
            add("parameters", name, var);
            add("mean gradients", name, mean);
        }
        for (name, var) in &model.buffers() {
            add("running statistics", name, var);
        }
    }
    let logits = model.forward(&batch(9), &run.pass(Pass::eval())).unwrap().logits;
    values.push(("logits of the evaluation".to_owned(), flat(&logits)));
    Outcome { values, uploads }
}

/// A run on a grid of its own; none if this machine has none.
pub fn on_grid(lowering: Option<Arc<dyn Lowering>>) -> Option<Run> {
    Some(Run {
        grid: Some(EmulatedGrid::new()?),
        lowering,
        scale: None,
    })
}

#[test]
fn two_steps_and_an_evaluation_equal_those_of_the_cpu() {
    let Some(run) = on_grid(None) else { return };
    for kind in [Kind::Full, Kind::Vanilla] {
        let (found, expected) = (steps(kind, 2, 3, &run), steps(kind, 2, 3, &Run::default()));
        for ((name, found), (_, expected)) in found.values.iter().zip(&expected.values) {
            close(&format!("{kind}: {name}"), found, expected, 1e-3);
        }
        // The second step finds on the device what the first one uploaded.
        assert!(found.uploads[0] > 0 && found.uploads[1] == found.uploads[0]);
    }
    let grid = run.grid.unwrap();
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
