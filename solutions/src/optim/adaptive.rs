//! Optimizers that scale each number's step by the gradients it has had: Adagrad, RMSprop, Adadelta.
//!
//! They are here to be compared with; training runs on AdamW. So they are composed of candle's operators.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var};
use serde::{Deserialize, Serialize};

use super::Optimizer;
use super::state::{self, Moments, Params};

/// Settings of Adagrad (Duchi, Hazan and Singer 2011): s ← s + g², w ← w − lr·g/(√s + ε).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdagradConfig {
    /// Added to the root.
    pub eps: f64,
}

impl Default for AdagradConfig {
    fn default() -> Self {
        Self { eps: 1e-10 }
    }
}

/// Settings of RMSprop (Tieleman and Hinton 2012): s ← α·s + (1−α)·g², w ← w − lr·g/(√s + ε).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RmspropConfig {
    /// Share of the running mean that is kept.
    pub alpha: f64,
    /// Added to the root.
    pub eps: f64,
}

impl Default for RmspropConfig {
    fn default() -> Self {
        Self {
            alpha: 0.99,
            eps: 1e-8,
        }
    }
}

/// Settings of Adadelta (Zeiler 2012): the step is g·√(d + ε)/√(s + ε), with running means s of g² and d of the
/// squared steps; lr multiplies it, and is 1 in the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdadeltaConfig {
    /// Share of both running means that is kept.
    pub rho: f64,
    /// Added under both roots.
    pub eps: f64,
}

impl Default for AdadeltaConfig {
    fn default() -> Self {
        Self { rho: 0.9, eps: 1e-6 }
    }
}

#[derive(Clone, Debug)]
enum Rule {
    Adagrad(AdagradConfig),
    Rmsprop(RmspropConfig),
    Adadelta(AdadeltaConfig),
}

impl Rule {
    /// Names of what is remembered for each parameter, as PyTorch's.
    fn kinds(&self) -> &'static [&'static str] {
        match self {
            Self::Adagrad(_) => &["sum"],
            Self::Rmsprop(_) => &["square_avg"],
            Self::Adadelta(_) => &["square_avg", "acc_delta"],
        }
    }

    /// What is taken off the parameter, lr times; `kept` are its variables in the order of [`Self::kinds`].
    fn change(&self, grad: &Tensor, kept: &[&Var]) -> candle_core::Result<Tensor> {
        let running = |var: &Var, new: &Tensor, keep: f64| {
            (var.as_detached_tensor() * keep)? + (new.sqr()? * (1.0 - keep))?
        };
        let square = match self {
            Self::Adagrad(_) => (kept[0].as_detached_tensor() + grad.sqr()?)?,
            Self::Rmsprop(c) => running(kept[0], grad, c.alpha)?,
            Self::Adadelta(c) => running(kept[0], grad, c.rho)?,
        };
        kept[0].set(&square)?;
        match self {
            Self::Adagrad(AdagradConfig { eps }) | Self::Rmsprop(RmspropConfig { eps, .. }) => {
                grad / (square.sqrt()? + *eps)?
            }
            Self::Adadelta(c) => {
                let top = (kept[1].as_detached_tensor() + c.eps)?.sqrt()?;
                let change = ((top / (square + c.eps)?.sqrt()?)? * grad)?;
                kept[1].set(&running(kept[1], &change, c.rho)?)?;
                Ok(change)
            }
        }
    }
}

/// One of the three.
pub struct Adaptive {
    params: Params,
    rule: Rule,
    kept: Vec<Vec<Var>>,
    step: u64,
}

impl Adaptive {
    /// Adagrad over `params`.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn adagrad(params: Vec<(String, Var)>, config: AdagradConfig) -> Result<Self> {
        Self::build(params, config.eps, 0.0, Rule::Adagrad(config))
    }

    /// RMSprop over `params`.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn rmsprop(params: Vec<(String, Var)>, config: RmspropConfig) -> Result<Self> {
        Self::build(params, config.eps, config.alpha, Rule::Rmsprop(config))
    }

    /// Adadelta over `params`.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn adadelta(params: Vec<(String, Var)>, config: AdadeltaConfig) -> Result<Self> {
        Self::build(params, config.eps, config.rho, Rule::Adadelta(config))
    }

    fn build(params: Params, eps: f64, keep: f64, rule: Rule) -> Result<Self> {
        ensure!(
            (0.0..1.0).contains(&keep),
            "optimizer: the share that is kept must be 0 or more and less than 1; it is {keep}"
        );
        ensure!(eps >= 0.0, "optimizer: eps must be 0 or more; it is {eps}");
        let kinds = rule.kinds().iter();
        Ok(Self {
            kept: kinds
                .map(|_| state::zeros_like(state::vars(&params)))
                .collect::<Result<_>>()?,
            params,
            rule,
            step: 0,
        })
    }

    fn moments(&self) -> Vec<Moments<'_>> {
        let pairs = self.rule.kinds().iter().zip(&self.kept);
        pairs.map(|(kind, vars)| Moments { kind, vars }).collect()
    }
}

impl Optimizer for Adaptive {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        state::check_grads(&self.params, grads)?;
        for (i, ((_, param), grad)) in self.params.iter().zip(grads).enumerate() {
            let kept: Vec<&Var> = self.kept.iter().map(|vars| &vars[i]).collect();
            let change = self.rule.change(&grad.detach(), &kept)?;
            param.set(&(param.as_detached_tensor() - (change * lr)?)?)?;
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
