use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var};
use serde::{Deserialize, Serialize};

use super::Optimizer;
use super::state::{self, Moments, Params};
use crate::kernels::multi_tensor::{self, SgdStep};

/// Settings of [`Sgd`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdConfig {
    /// Share of the last direction that is kept; 0 keeps no state.
    pub momentum: f64,
    /// Look ahead by the momentum (Sutskever et al. 2013).
    pub nesterov: bool,
    /// Times the parameter, added to its gradient.
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
/// candle's, on gradients that do not fit.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> candle_core::Result<()> {
    let mut pairs = params.iter().zip(grads);
    pairs.try_for_each(|(param, grad)| descend(param, grad, lr))
}

/// One step with momentum: v ← μv + g, w ← w − lr·v for each of `params`, its gradient and its velocity.
///
/// # Errors
/// candle's, on gradients or velocities that do not fit.
pub fn momentum_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> candle_core::Result<()> {
    for ((param, grad), velocity) in params.iter().zip(grads).zip(velocities) {
        descend(param, &accumulate(velocity, grad, momentum)?, lr)?;
    }
    Ok(())
}

fn descend(param: &Var, direction: &Tensor, lr: f64) -> candle_core::Result<()> {
    param.set(&(param.as_detached_tensor() - (direction.detach() * lr)?)?)
}

fn accumulate(velocity: &Var, grad: &Tensor, momentum: f64) -> candle_core::Result<Tensor> {
    let next = ((velocity.as_detached_tensor() * momentum)? + grad.detach())?;
    velocity.set(&next)?;
    Ok(next)
}

/// SGD with momentum as PyTorch's, without dampening: v ← μv + (g + λw), w ← w − lr·v; with Nesterov
/// w ← w − lr·(g + λw + μv). The learning rate is outside the buffer, so a change of it acts at once.
pub struct Sgd {
    params: Params,
    buffers: Vec<Var>,
    config: SgdConfig,
    step: u64,
}

impl Sgd {
    /// Over `params`, at rest.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn new(params: Vec<(String, Var)>, config: SgdConfig) -> Result<Self> {
        ensure!(
            (0.0..1.0).contains(&config.momentum),
            "optimizer: momentum must be 0 or more and less than 1; it is {}",
            config.momentum
        );
        ensure!(
            !config.nesterov || config.momentum > 0.0,
            "optimizer: Nesterov needs a momentum above 0"
        );
        ensure!(
            config.weight_decay >= 0.0,
            "optimizer: weight_decay must be 0 or more; it is {}",
            config.weight_decay
        );
        let buffers = if config.momentum > 0.0 {
            state::zeros_like(state::vars(&params))?
        } else {
            Vec::new()
        };
        Ok(Self {
            params,
            buffers,
            config,
            step: 0,
        })
    }

    fn moments(&self) -> Vec<Moments<'_>> {
        let kept = (!self.buffers.is_empty()).then_some(Moments {
            kind: "momentum_buffer",
            vars: &self.buffers,
        });
        kept.into_iter().collect()
    }
}

impl SgdConfig {
    fn plain(&self, param: &Var, grad: &Tensor, buffer: Option<&Var>, lr: f64) -> candle_core::Result<()> {
        let w = param.as_detached_tensor();
        let grad = (grad.detach() + (w * self.weight_decay)?)?;
        match buffer {
            None => descend(param, &grad, lr),
            Some(buffer) if self.nesterov => {
                let velocity = accumulate(buffer, &grad, self.momentum)?;
                descend(param, &(grad + (velocity * self.momentum)?)?, lr)
            }
            Some(buffer) => descend(param, &accumulate(buffer, &grad, self.momentum)?, lr),
        }
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        let params: Vec<&Var> = state::vars(&self.params).collect();
        // Without momentum there is no buffer, and no pass for it.
        let serves = |&i: &usize| {
            let buffer = self.buffers.get(i).map(Var::as_tensor);
            let all = [Some(params[i].as_tensor()), Some(&grads[i]), buffer];
            all.iter().all(|t| t.is_some_and(multi_tensor::serves))
        };
        let (one_pass, rest): (Vec<_>, Vec<_>) = (0..params.len()).partition(serves);
        let SgdConfig {
            momentum,
            nesterov,
            weight_decay,
        } = self.config;
        let step = SgdStep {
            lr,
            momentum,
            weight_decay,
            nesterov,
            gradient_factor: 1.0,
        };
        let w: Vec<&Tensor> = one_pass.iter().map(|&i| params[i].as_tensor()).collect();
        let g: Vec<&Tensor> = one_pass.iter().map(|&i| &grads[i]).collect();
        let kept: Vec<&Tensor> = one_pass.iter().map(|&i| self.buffers[i].as_tensor()).collect();
        multi_tensor::sgd(&w, &g, &kept, &step)?;
        for i in rest {
            self.config.plain(params[i], &grads[i], self.buffers.get(i), lr)?;
        }
        self.step += 1;
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        state::collect(self.step, &self.params, &self.moments())
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.step = state::restore(state, &self.params, &self.moments())?;
        Ok(())
    }
}
