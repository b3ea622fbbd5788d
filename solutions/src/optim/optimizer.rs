//! The optimizer that [`OptimConfig`] describes: its step, and its state in checkpoints.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor, Var};

use super::adam::{AdamConfig, AdamState, adam_step};
use super::config::OptimConfig;
use super::layerwise::{lamb_step, lars_step};
use super::sgd::descend;
use super::state::zeros_like;

// ANCHOR: Optimizer
/// Updates parameters by their gradients.
pub trait Optimizer: Send {
    /// Takes one step with learning rate `lr`. `grads` are in the order of the parameters.
    ///
    /// # Errors
    /// Returns an error that names the parameter if the shape or dtype of its gradient is different. In this case, no
    /// parameter has changed.
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()>;

    /// A copy of the state as named tensors: `step` (i64), and for each parameter NAME its moments, such as
    /// `exp_avg.NAME`, `exp_avg_sq.NAME` or `momentum_buffer.NAME`. A training run that loads it continues
    /// bit-identically.
    ///
    /// # Errors
    /// Returns an error if a tensor cannot be copied, for example because the device is out of memory.
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Loads a state that [`Self::state`] returned.
    ///
    /// # Errors
    /// Returns an error if a tensor is missing, unknown, or of another shape or dtype. In this case, the optimizer has
    /// not changed.
    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()>;
}
// ANCHOR_END: Optimizer

impl OptimConfig {
    /// Creates the optimizer of the named `params`, before its first step. `train::Config::validate` checks the ranges of the
    /// settings that a run can choose.
    pub fn build(&self, params: Vec<(String, Var)>) -> Result<Box<dyn Optimizer>> {
        let (names, params): (Vec<_>, Vec<_>) = params.into_iter().unzip();
        let zeros = |_: &&str| zeros_like(&params);
        Ok(Box::new(Stateful {
            states: self.states().iter().map(zeros).collect::<Result<_>>()?,
            names,
            params,
            config: self.clone(),
            steps: 0,
        }))
    }
}

/// An optimizer that keeps variables of the shapes of its parameters from one step to the next.
struct Stateful {
    config: OptimConfig,
    names: Vec<String>,
    params: Vec<Var>,
    /// Steps taken.
    steps: u64,
    /// A variable for each parameter, for each of [`OptimConfig::states`].
    states: Vec<Vec<Var>>,
}

impl Stateful {
    /// Each variable of the state with its name, `STATE.PARAMETER`.
    fn named(&self) -> impl Iterator<Item = (String, &Var)> {
        let kinds = self.config.states().iter().zip(&self.states);
        kinds.flat_map(|(kind, vars)| {
            let named = self.names.iter().zip(vars);
            named.map(move |(name, var)| (format!("{kind}.{name}"), var))
        })
    }

    /// Takes one step. The gradients have been checked against the parameters.
    fn apply(&self, grads: &[Tensor], lr: f64) -> candle_core::Result<()> {
        let params = &self.params[..];
        let state = |i: usize| self.states.get(i).map_or(&[][..], Vec::as_slice);
        // Cloned variables share their values.
        let mut adam = AdamState {
            step: self.steps,
            mean: state(0).to_vec(),
            square: state(1).to_vec(),
        };
        match &self.config {
            OptimConfig::Sgd(config) => descend(params, grads, state(0), lr, config),
            OptimConfig::Adam(config) => adam_step(params, grads, &mut adam, lr, config),
            OptimConfig::AdamW(config) => {
                let config = AdamConfig {
                    decoupled: true,
                    ..config.clone()
                };
                adam_step(params, grads, &mut adam, lr, &config)
            }
            OptimConfig::Lars(config) => lars_step(params, grads, state(0), lr, config),
            OptimConfig::Lamb(config) => lamb_step(params, grads, &mut adam, lr, config),
        }
    }
}

impl Optimizer for Stateful {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        let count = self.params.len();
        ensure!(
            count == grads.len(),
            "optimizer: expected {count} gradients, one for each parameter in its order, got {}",
            grads.len()
        );
        for ((name, param), grad) in self.names.iter().zip(&self.params).zip(grads) {
            check(grad, param, || format!("gradient of {name}"))?;
        }
        self.apply(grads, lr)?;
        self.steps += 1;
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let step = Tensor::new(self.steps as i64, &Device::Cpu)?;
        let copy = |(name, var): (String, &Var)| Ok((name, var.as_detached_tensor().copy()?));
        let step = std::iter::once(Ok(("step".to_owned(), step)));
        step.chain(self.named().map(copy)).collect()
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        let find = |name: &str| {
            state.get(name).with_context(|| {
                format!(
                    "optimizer state: tensor {name} is missing: the state belongs to another optimizer or another model"
                )
            })
        };
        let step = find("step")?;
        ensure!(
            step.rank() == 0 && step.dtype() == DType::I64,
            "optimizer state: tensor step: expected a scalar of I64, got shape {:?} of {:?}",
            step.dims(),
            step.dtype()
        );
        let steps = u64::try_from(step.to_scalar::<i64>()?).context("optimizer state: step is negative")?;
        // All tensors are checked before the first is set.
        let mut loaded = Vec::new();
        for (name, var) in self.named() {
            let tensor = find(&name)?;
            check(tensor, var, || format!("optimizer state: tensor {name}"))?;
            loaded.push((tensor.to_device(var.device())?, var));
        }
        ensure!(
            state.len() == 1 + loaded.len(),
            "optimizer state: expected {} tensors, got {}: it belongs to another optimizer or another model",
            1 + loaded.len(),
            state.len()
        );
        for (value, var) in loaded {
            var.set(&value)?;
        }
        self.steps = steps;
        Ok(())
    }
}

/// Checks shape and dtype.
fn check(tensor: &Tensor, like: &Var, what: impl FnOnce() -> String) -> Result<()> {
    ensure!(
        tensor.dims() == like.dims() && tensor.dtype() == like.dtype(),
        "{}: expected shape {:?} of {:?}, got {:?} of {:?}",
        what(),
        like.dims(),
        like.dtype(),
        tensor.dims(),
        tensor.dtype()
    );
    Ok(())
}
