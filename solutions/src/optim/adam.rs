use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var};
use serde::{Deserialize, Serialize};

use super::Optimizer;
use super::state::{self, Moments, Params};

/// Settings of [`Adam`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Share of the running mean of gradients that is kept.
    pub beta1: f64,
    /// Share of the running mean of squared gradients that is kept.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Times the parameter, added to its gradient.
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
        }
    }
}

/// Settings of [`Adam::decoupled`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamWConfig {
    /// As Adam's.
    pub beta1: f64,
    /// As Adam's.
    pub beta2: f64,
    /// As Adam's.
    pub eps: f64,
    /// Times the learning rate, the share of a parameter that each step takes off.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        let AdamConfig {
            beta1, beta2, eps, ..
        } = AdamConfig::default();
        Self {
            beta1,
            beta2,
            eps,
            weight_decay: 0.01,
        }
    }
}

/// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), as PyTorch's.
pub struct Adam {
    params: Params,
    mean: Vec<Var>,
    square: Vec<Var>,
    config: AdamConfig,
    decoupled: bool,
    step: u64,
}

impl Adam {
    /// Adam over `params`, its moments at zero.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn new(params: Vec<(String, Var)>, config: AdamConfig) -> Result<Self> {
        Self::build(params, config, false)
    }

    /// AdamW over `params`: the decay acts on the parameter, not through the moments.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn decoupled(params: Vec<(String, Var)>, config: AdamWConfig) -> Result<Self> {
        let AdamWConfig {
            beta1,
            beta2,
            eps,
            weight_decay,
        } = config;
        let config = AdamConfig {
            beta1,
            beta2,
            eps,
            weight_decay,
        };
        Self::build(params, config, true)
    }

    fn build(params: Vec<(String, Var)>, config: AdamConfig, decoupled: bool) -> Result<Self> {
        for (name, beta) in [("beta1", config.beta1), ("beta2", config.beta2)] {
            ensure!(
                (0.0..1.0).contains(&beta),
                "optimizer: {name} must be 0 or more and less than 1; it is {beta}"
            );
        }
        for (name, value) in [("eps", config.eps), ("weight_decay", config.weight_decay)] {
            ensure!(value >= 0.0, "optimizer: {name} must be 0 or more; it is {value}");
        }
        Ok(Self {
            mean: state::zeros_like(&params)?,
            square: state::zeros_like(&params)?,
            params,
            config,
            decoupled,
            step: 0,
        })
    }

    fn moments(&self) -> [Moments<'_>; 2] {
        [
            Moments {
                kind: "exp_avg",
                vars: &self.mean,
            },
            Moments {
                kind: "exp_avg_sq",
                vars: &self.square,
            },
        ]
    }
}

impl Optimizer for Adam {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        self.step += 1;
        let AdamConfig {
            beta1,
            beta2,
            eps,
            weight_decay,
        } = self.config;
        // Both moments start at zero; these undo it.
        let size = lr / (1.0 - beta1.powf(self.step as f64));
        let root = (1.0 - beta2.powf(self.step as f64)).sqrt();
        let moments = self.mean.iter().zip(&self.square);
        for (((_, param), grad), (mean, square)) in self.params.iter().zip(grads).zip(moments) {
            let mut w = param.as_detached_tensor();
            let mut g = grad.detach();
            if weight_decay > 0.0 && self.decoupled {
                w = (w * (1.0 - lr * weight_decay))?;
            } else if weight_decay > 0.0 {
                g = (g + (&w * weight_decay)?)?;
            }
            let m = mean.as_detached_tensor();
            let m = (&m + ((&g - &m)? * (1.0 - beta1))?)?;
            let v = ((square.as_detached_tensor() * beta2)? + (g.sqr()? * (1.0 - beta2))?)?;
            let below = ((v.sqrt()? / root)? + eps)?;
            param.set(&(w - ((&m / below)? * size)?)?)?;
            mean.set(&m)?;
            square.set(&v)?;
        }
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
