use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var, bail};
use serde::{Deserialize, Serialize};

use super::Optimizer;
use super::state::{self, Moments, Params};
use crate::kernels::multi_tensor::{self, AdamStep};

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

    /// As they are kept.
    pub(super) fn moments(&self) -> [Moments<'_>; 2] {
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

    /// One pass by `fused` over all that `multi_tensor` takes; `rest` serves the others, one by one. Counts the step.
    pub(super) fn advance<'a>(
        &mut self,
        params: impl Iterator<Item = &'a Var>,
        grads: &[Tensor],
        step: AdamStep,
        fused: Fused,
        rest: One,
    ) -> candle_core::Result<()> {
        let params: Vec<&Var> = params.collect();
        let (means, squares) = (&self.mean, &self.square);
        let n = params.len();
        if [grads.len(), means.len(), squares.len()] != [n; 3] {
            let (g, m, v) = (grads.len(), means.len(), squares.len());
            bail!("adam: {n} parameters with {g} gradients, {m} means and {v} squares");
        }
        let step = AdamStep {
            step: self.step + 1,
            ..step
        };
        let of = |i: usize| [params[i].as_tensor(), &grads[i], &means[i], &squares[i]];
        let (one_pass, others): (Vec<_>, Vec<_>) =
            (0..n).partition(|&i| of(i).into_iter().all(multi_tensor::serves));
        let [w, g, m, v] = std::array::from_fn(|k| one_pass.iter().map(|&i| of(i)[k]).collect::<Vec<_>>());
        fused(&w, &g, &m, &v, &step)?;
        for i in others {
            rest(params[i], &grads[i], &means[i], &squares[i], &step)?;
        }
        self.step += 1;
        Ok(())
    }
}

/// A step of weights by gradients, means and squares, all at once.
pub(super) type Fused =
    fn(&[&Tensor], &[&Tensor], &[&Tensor], &[&Tensor], &AdamStep) -> candle_core::Result<()>;

/// The step of one weight.
pub(super) type One = fn(&Var, &Tensor, &Var, &Var, &AdamStep) -> candle_core::Result<()>;

impl AdamConfig {
    /// Holds the settings to their ranges.
    pub(super) fn check(&self) -> Result<()> {
        for (name, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            ensure!(
                (0.0..1.0).contains(&beta),
                "optimizer: {name} must be 0 or more and less than 1; it is {beta}"
            );
        }
        for (name, value) in [("eps", self.eps), ("weight_decay", self.weight_decay)] {
            ensure!(value >= 0.0, "optimizer: {name} must be 0 or more; it is {value}");
        }
        Ok(())
    }

    pub(super) fn step(&self, lr: f64, decoupled: bool) -> AdamStep {
        AdamStep {
            lr,
            beta1: self.beta1,
            beta2: self.beta2,
            eps: self.eps,
            weight_decay: self.weight_decay,
            decoupled,
            step: 0,
            gradient_factor: 1.0,
        }
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
    let step = config.step(lr, false);
    state.advance(params.iter(), grads, step, multi_tensor::adam, plain)
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
        config.check()?;
        Ok(Self {
            state: AdamState::zeros_like(state::vars(&params))?,
            params,
            config,
            decoupled,
        })
    }
}

/// The step in candle's operators, for every device and number type.
fn plain(param: &Var, grad: &Tensor, mean: &Var, square: &Var, s: &AdamStep) -> candle_core::Result<()> {
    let (keep, decay) = if s.decoupled {
        (1.0 - s.lr * s.weight_decay, 0.0)
    } else {
        (1.0, s.weight_decay)
    };
    // Both moments start at zero; these two undo it.
    let size = s.lr / (1.0 - s.beta1.powf(s.step as f64));
    let root = (1.0 - s.beta2.powf(s.step as f64)).sqrt();
    let w = (param.as_detached_tensor() * keep)?;
    let g = (grad.detach() + (&w * decay)?)?;
    let m = mean.as_detached_tensor();
    let m = (&m + ((&g - &m)? * (1.0 - s.beta1))?)?;
    let v = ((square.as_detached_tensor() * s.beta2)? + (g.sqr()? * (1.0 - s.beta2))?)?;
    let below = ((v.sqrt()? / root)? + s.eps)?;
    param.set(&(w - ((&m / below)? * size)?)?)?;
    mean.set(&m)?;
    square.set(&v)
}

impl Optimizer for Adam {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        let params = state::vars(&self.params);
        let step = self.config.step(lr, self.decoupled);
        self.state
            .advance(params, grads, step, multi_tensor::adam, plain)?;
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
