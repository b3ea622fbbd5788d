use anyhow::{Result, ensure};
use candle_core::{Tensor, Var, bail};
use serde::{Deserialize, Serialize};

use super::state::{self, Moments, Rule};
use crate::kernels::multi_tensor::{self, SgdStep};

/// Settings of SGD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdConfig {
    /// Fraction μ of the velocity that is kept from step to step; with 0 no velocity is stored.
    pub momentum: f64,
    /// Nesterov's momentum (Sutskever et al. 2013).
    pub nesterov: bool,
    /// λ: λ times the parameter is added to its gradient.
    pub weight_decay: f64,
}

impl Default for SgdConfig {
    fn default() -> Self {
        Self {
            momentum: 0.9,
            nesterov: false,
            weight_decay: 0.0,
        }
    }
}

/// One step of gradient descent: w ← w − lr·g for each of `params` and its gradient.
///
/// # Errors
/// Returns an error if the gradients do not fit the parameters.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> candle_core::Result<()> {
    descend(params, grads, &[], &plain_step(lr, 0.0))
}

/// One step with momentum: v ← μv + g, w ← w − lr·v for each of `params`, its gradient and its velocity.
///
/// # Errors
/// Returns an error if the gradients or the velocities do not fit the parameters.
pub fn momentum_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> candle_core::Result<()> {
    if velocities.len() != params.len() {
        bail!(
            "sgd: {} parameters with {} velocities",
            params.len(),
            velocities.len()
        );
    }
    descend(params, grads, velocities, &plain_step(lr, momentum))
}

/// The settings of a step without weight decay and without Nesterov's momentum.
fn plain_step(lr: f64, momentum: f64) -> SgdStep {
    SgdStep {
        lr,
        momentum,
        weight_decay: 0.0,
        nesterov: false,
        gradient_factor: 1.0,
    }
}

/// One step of SGD in any form. `velocities` is empty if there is no momentum. One call of the multi-tensor kernel
/// updates all parameters that it supports; [`plain`] updates the others, and all of them if there is no momentum.
fn descend(params: &[Var], grads: &[Tensor], velocities: &[Var], step: &SgdStep) -> candle_core::Result<()> {
    if grads.len() != params.len() {
        bail!("sgd: {} parameters with {} gradients", params.len(), grads.len());
    }
    let serves = |&i: &usize| {
        velocities.get(i).is_some_and(|velocity| {
            [params[i].as_tensor(), &grads[i], velocity]
                .into_iter()
                .all(multi_tensor::serves)
        })
    };
    let (fused, others): (Vec<_>, Vec<_>) = (0..params.len()).partition(serves);
    let w: Vec<&Tensor> = fused.iter().map(|&i| params[i].as_tensor()).collect();
    let g: Vec<&Tensor> = fused.iter().map(|&i| &grads[i]).collect();
    let v: Vec<&Tensor> = fused.iter().map(|&i| velocities[i].as_tensor()).collect();
    multi_tensor::sgd(&w, &g, &v, step)?;
    others
        .into_iter()
        .try_for_each(|i| plain(&params[i], &grads[i], velocities.get(i), step))
}

/// The step of one parameter with candle's operators, for every device and dtype. It is the specification of the
/// kernel.
fn plain(param: &Var, grad: &Tensor, velocity: Option<&Var>, s: &SgdStep) -> candle_core::Result<()> {
    let w = param.as_detached_tensor();
    let mut direction = grad.detach();
    if s.weight_decay > 0.0 {
        direction = (direction + (&w * s.weight_decay)?)?;
    }
    if let Some(velocity) = velocity {
        let next = ((velocity.as_detached_tensor() * s.momentum)? + &direction)?;
        velocity.set(&next)?;
        direction = match s.nesterov {
            true => (direction + (next * s.momentum)?)?,
            false => next,
        };
    }
    param.set(&(w - (direction * s.lr)?)?)
}

/// SGD with momentum as in PyTorch, without dampening: v ← μv + (g + λw), w ← w − lr·v; with Nesterov's momentum w ← w
/// − lr·(g + λw + μv). The velocity does not contain the learning rate, so a change of the learning rate takes effect
/// at once.
pub(super) struct Sgd {
    velocities: Vec<Var>,
    config: SgdConfig,
}

impl Sgd {
    /// All velocities start at zero.
    ///
    /// # Errors
    /// Returns an error if a setting is out of range.
    pub fn new(params: &[Var], config: SgdConfig) -> Result<Self> {
        ensure!(
            (0.0..1.0).contains(&config.momentum),
            "optimizer: momentum must be at least 0 and less than 1; it is {}",
            config.momentum
        );
        ensure!(
            !config.nesterov || config.momentum > 0.0,
            "optimizer: Nesterov's momentum needs a momentum above 0"
        );
        ensure!(
            config.weight_decay >= 0.0,
            "optimizer: weight_decay must be at least 0; it is {}",
            config.weight_decay
        );
        let with_velocity = if config.momentum > 0.0 { params } else { &[] };
        Ok(Self {
            velocities: state::zeros_like(with_velocity)?,
            config,
        })
    }
}

impl Rule for Sgd {
    fn apply(&mut self, params: &[Var], grads: &[Tensor], lr: f64) -> candle_core::Result<()> {
        let SgdConfig {
            momentum,
            nesterov,
            weight_decay,
        } = self.config;
        if nesterov || weight_decay > 0.0 {
            let step = SgdStep {
                weight_decay,
                nesterov,
                ..plain_step(lr, momentum)
            };
            descend(params, grads, &self.velocities, &step)
        } else if momentum > 0.0 {
            momentum_step(params, grads, &self.velocities, lr, momentum)
        } else {
            sgd_step(params, grads, lr)
        }
    }

    fn moments(&self) -> Vec<Moments<'_>> {
        if self.velocities.is_empty() {
            return Vec::new();
        }
        vec![("momentum_buffer", &self.velocities)]
    }
}
