//! Optimizers for large batches: each tensor's step is measured by the size of its weights.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{DType, Tensor, Var};
use serde::{Deserialize, Serialize};

use super::state::{self, Moments, Params};
use super::{AdamConfig, AdamState, Optimizer};
use crate::kernels::multi_tensor::{self, AdamStep};

/// Settings of [`Lars`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LarsConfig {
    /// Share of the last direction that is kept.
    pub momentum: f64,
    /// Times the weight, added to its gradient.
    pub weight_decay: f64,
    /// η: how far a tensor may go in one step at rate 1, as a share of its norm.
    pub trust: f64,
    /// Whether biases and the scales of batch norm (tensors of one axis or none) are scaled and decayed as well. Most
    /// who use LARS leave them out.
    pub vectors: bool,
}

impl Default for LarsConfig {
    fn default() -> Self {
        Self {
            momentum: 0.9,
            weight_decay: 1e-4,
            trust: 0.001,
            vectors: false,
        }
    }
}

/// LARS's local rate η‖w‖/(‖g‖ + λ‖w‖) (You, Gitman and Ginsburg 2017, equation 6), λ being the weight decay; 1 where
/// the weights or the gradient have no length.
pub fn trust_ratio(weight_norm: f64, grad_norm: f64, weight_decay: f64, trust: f64) -> f64 {
    if weight_norm == 0.0 || grad_norm == 0.0 {
        return 1.0;
    }
    trust * weight_norm / (grad_norm + weight_decay * weight_norm)
}

/// LARS (You, Gitman and Ginsburg 2017, algorithm 1): v ← μv + lr·ratio·(g + λw), w ← w − v, the ratio being the
/// tensor's own [`trust_ratio`].
pub struct Lars {
    params: Params,
    buffers: Vec<Var>,
    config: LarsConfig,
    step: u64,
}

impl Lars {
    /// Over `params`, at rest.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn new(params: Vec<(String, Var)>, config: LarsConfig) -> Result<Self> {
        ensure!(
            (0.0..1.0).contains(&config.momentum),
            "optimizer: momentum must be 0 or more and less than 1; it is {}",
            config.momentum
        );
        ensure!(
            config.weight_decay >= 0.0,
            "optimizer: weight_decay must be 0 or more; it is {}",
            config.weight_decay
        );
        ensure!(
            config.trust > 0.0,
            "optimizer: trust must be above 0; it is {}",
            config.trust
        );
        Ok(Self {
            buffers: state::zeros_like(state::vars(&params))?,
            params,
            config,
            step: 0,
        })
    }

    fn moments(&self) -> [Moments<'_>; 1] {
        [Moments {
            kind: "momentum_buffer",
            vars: &self.buffers,
        }]
    }
}

/// One step of LARS on each of `params`: see [`Lars`]. `velocities` has one variable like each parameter, at zero
/// before the first step.
///
/// # Errors
/// candle's, on gradients that do not fit.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> candle_core::Result<()> {
    for ((param, grad), velocity) in params.iter().zip(grads).zip(velocities) {
        let (w, g) = (param.as_detached_tensor(), grad.detach());
        let (ratio, decay) = if config.vectors || w.rank() > 1 {
            let ratio = trust_ratio(length(&w)?, length(&g)?, config.weight_decay, config.trust);
            (ratio, config.weight_decay)
        } else {
            (1.0, 0.0)
        };
        let direction = ((g + (&w * decay)?)? * (lr * ratio))?;
        let next = ((velocity.as_detached_tensor() * config.momentum)? + direction)?;
        param.set(&(w - &next)?)?;
        velocity.set(&next)?;
    }
    Ok(())
}

/// The 2-norm, summed in f64 on the CPU.
fn length(tensor: &Tensor) -> candle_core::Result<f64> {
    if multi_tensor::serves(tensor) {
        return multi_tensor::global_norm(&[tensor]);
    }
    let wide = tensor.to_dtype(DType::F64)?;
    wide.sqr()?.sum_all()?.sqrt()?.to_scalar()
}

impl Optimizer for Lars {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        let params: Vec<Var> = state::vars(&self.params).cloned().collect();
        lars_step(&params, grads, &self.buffers, lr, &self.config)?;
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

/// Settings of [`Lamb`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LambConfig {
    /// Share of the running mean of gradients that is kept.
    pub beta1: f64,
    /// Share of the running mean of squared gradients that is kept.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// λ: times the weight, added to the direction.
    pub weight_decay: f64,
}

impl Default for LambConfig {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-6,
            weight_decay: 0.01,
        }
    }
}

/// One step of LAMB (You et al. 2020, algorithm 2) on each of `params`: with Adam's corrected moments m̂ and v̂,
/// r = m̂/(√v̂ + ε) + λw and w ← w − lr·(‖w‖/‖r‖)·r; the ratio is 1 where either norm is 0.
///
/// # Errors
/// candle's, on gradients that do not fit.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> candle_core::Result<()> {
    state.advance(params.iter(), grads, config.step(lr), multi_tensor::lamb, plain)
}

impl LambConfig {
    /// The same numbers as Adam's. The decay is not decoupled there: LAMB's direction adds it itself.
    fn adam(&self) -> AdamConfig {
        AdamConfig {
            beta1: self.beta1,
            beta2: self.beta2,
            eps: self.eps,
            weight_decay: self.weight_decay,
        }
    }

    fn step(&self, lr: f64) -> AdamStep {
        self.adam().step(lr, false)
    }
}

/// The step in candle's operators, for every device and number type.
fn plain(param: &Var, grad: &Tensor, mean: &Var, square: &Var, s: &AdamStep) -> candle_core::Result<()> {
    let (w, g) = (param.as_detached_tensor(), grad.detach());
    let m = ((mean.as_detached_tensor() * s.beta1)? + (&g * (1.0 - s.beta1))?)?;
    let v = ((square.as_detached_tensor() * s.beta2)? + (g.sqr()? * (1.0 - s.beta2))?)?;
    let [first, second] = [s.beta1, s.beta2].map(|beta| 1.0 - beta.powf(s.step as f64));
    let adam = ((&m / first)? / ((&v / second)?.sqrt()? + s.eps)?)?;
    let direction = (adam + (&w * s.weight_decay)?)?;
    let (long, short) = (length(&w)?, length(&direction)?);
    let ratio = if long > 0.0 && short > 0.0 {
        long / short
    } else {
        1.0
    };
    param.set(&(w - (direction * (s.lr * ratio))?)?)?;
    mean.set(&m)?;
    square.set(&v)
}

/// LAMB (You et al. 2020): see [`lamb_step`].
pub struct Lamb {
    params: Params,
    state: AdamState,
    config: LambConfig,
}

impl Lamb {
    /// Over `params`, its moments at zero.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn new(params: Vec<(String, Var)>, config: LambConfig) -> Result<Self> {
        config.adam().check()?;
        Ok(Self {
            state: AdamState::zeros_like(state::vars(&params))?,
            params,
            config,
        })
    }
}

impl Optimizer for Lamb {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        let params = state::vars(&self.params);
        self.state
            .advance(params, grads, self.config.step(lr), multi_tensor::lamb, plain)?;
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        state::collect(self.state.step, &self.params, &self.state.moments())
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.state.step = state::restore(state, &self.params, &self.state.moments())?;
        Ok(())
    }
}
