use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Optimizer;
use super::cpu;
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

/// What Adam remembers of the steps so far.
#[derive(Clone, Debug)]
pub struct AdamState {
    /// Steps taken.
    pub step: u64,
    /// Running mean of the gradients of each parameter, m.
    pub mean: Vec<Var>,
    /// Running mean of the squared gradients of each parameter, v.
    pub square: Vec<Var>,
}

impl AdamState {
    /// No step taken, both means at zero.
    ///
    /// # Errors
    /// candle's.
    pub fn zeros_like<'a>(params: impl Iterator<Item = &'a Var> + Clone) -> Result<Self> {
        Ok(Self {
            step: 0,
            mean: state::zeros_like(params.clone())?,
            square: state::zeros_like(params)?,
        })
    }

    fn advance<'a>(
        &mut self,
        params: impl Iterator<Item = &'a Var>,
        grads: &[Tensor],
        lr: f64,
        config: &AdamConfig,
        decoupled: bool,
    ) -> candle_core::Result<()> {
        self.step += 1;
        let update = Update::new(config, decoupled, self.step, lr);
        let moments = self.mean.iter().zip(&self.square);
        for ((param, grad), (mean, square)) in params.zip(grads).zip(moments) {
            if cpu::serves(param) && cpu::serves(grad) {
                update.on_cpu(param, grad, mean, square)?;
            } else {
                update.plain(param, grad, mean, square)?;
            }
        }
        Ok(())
    }
}

/// One step of Adam (Kingma and Ba 2015, algorithm 1) on each of `params` by its gradient.
///
/// # Errors
/// candle's, on gradients that do not fit.
pub fn adam_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> candle_core::Result<()> {
    state.advance(params.iter(), grads, lr, config, false)
}

/// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), as PyTorch's.
pub struct Adam {
    params: Params,
    state: AdamState,
    config: AdamConfig,
    decoupled: bool,
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
            state: AdamState::zeros_like(state::vars(&params))?,
            params,
            config,
            decoupled,
        })
    }

    fn moments(&self) -> [Moments<'_>; 2] {
        [
            Moments {
                kind: "exp_avg",
                vars: &self.state.mean,
            },
            Moments {
                kind: "exp_avg_sq",
                vars: &self.state.square,
            },
        ]
    }
}

/// The numbers of one step.
struct Update {
    beta1: f64,
    beta2: f64,
    eps: f64,
    /// Times the parameter, before the step: AdamW's decay.
    keep: f64,
    /// Times the parameter, added to the gradient: Adam's decay.
    decay: f64,
    size: f64,
    root: f64,
}

impl Update {
    fn new(config: &AdamConfig, decoupled: bool, step: u64, lr: f64) -> Self {
        let decay = config.weight_decay;
        Self {
            beta1: config.beta1,
            beta2: config.beta2,
            eps: config.eps,
            keep: if decoupled { 1.0 - lr * decay } else { 1.0 },
            decay: if decoupled { 0.0 } else { decay },
            // Both moments start at zero; these two undo it.
            size: lr / (1.0 - config.beta1.powf(step as f64)),
            root: (1.0 - config.beta2.powf(step as f64)).sqrt(),
        }
    }

    fn plain(&self, param: &Var, grad: &Tensor, mean: &Var, square: &Var) -> candle_core::Result<()> {
        let w = (param.as_detached_tensor() * self.keep)?;
        let g = (grad.detach() + (&w * self.decay)?)?;
        let m = mean.as_detached_tensor();
        let m = (&m + ((&g - &m)? * (1.0 - self.beta1))?)?;
        let v = ((square.as_detached_tensor() * self.beta2)? + (g.sqr()? * (1.0 - self.beta2))?)?;
        let below = ((v.sqrt()? / self.root)? + self.eps)?;
        param.set(&(w - ((&m / below)? * self.size)?)?)?;
        mean.set(&m)?;
        square.set(&v)
    }

    fn on_cpu(&self, param: &Var, grad: &Tensor, mean: &Var, square: &Var) -> candle_core::Result<()> {
        let parts = |w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]| {
            w.par_chunks_mut(cpu::CHUNK)
                .zip(g.par_chunks(cpu::CHUNK))
                .zip(m.par_chunks_mut(cpu::CHUNK))
                .zip(v.par_chunks_mut(cpu::CHUNK))
                .for_each(|(((w, g), m), v)| self.chunk(w, g, m, v));
        };
        cpu::with(grad, |g| {
            cpu::with_mut(param, |w| {
                cpu::with_mut(mean, |m| cpu::with_mut(square, |v| parts(w, g, m, v)))
            })
        })???
    }

    fn chunk(&self, w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        let (keep, decay, size) = (self.keep as f32, self.decay as f32, self.size as f32);
        let (new1, beta2, new2) = (
            (1.0 - self.beta1) as f32,
            self.beta2 as f32,
            (1.0 - self.beta2) as f32,
        );
        let (root, eps) = ((1.0 / self.root) as f32, self.eps as f32);
        for (((w, g), m), v) in w.iter_mut().zip(g).zip(m).zip(v) {
            let kept = *w * keep;
            let g = g + kept * decay;
            *m += (g - *m) * new1;
            *v = *v * beta2 + g * g * new2;
            *w = kept - *m / (v.sqrt() * root + eps) * size;
        }
    }
}

impl Optimizer for Adam {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        let params = state::vars(&self.params);
        self.state
            .advance(params, grads, lr, &self.config, self.decoupled)?;
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        state::collect(self.state.step, &self.params, &self.moments())
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.state.step = state::restore(state, &self.params, &self.moments())?;
        Ok(())
    }
}
