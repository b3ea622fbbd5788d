//! Optimizers that scale the step of each weight by its past gradients: Adagrad, RMSprop, Adadelta.
//!
//! They are here for comparison. They use candle's operators: there are no fused kernels for them.

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var};
use serde::{Deserialize, Serialize};

use super::state::{self, Moments, Rule};

/// Settings of Adagrad (Duchi, Hazan and Singer 2011): s ← s + g², w ← w − lr·g/(√s + ε).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdagradConfig {
    /// ε: added to the root.
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
    /// α: decay rate of the running mean of the squared gradients.
    pub alpha: f64,
    /// ε: added to the root.
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

/// Settings of Adadelta (Zeiler 2012): w ← w − lr·g·√(d + ε)/√(s + ε), with running means s of g² and d of the squared
/// steps. In the paper lr is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdadeltaConfig {
    /// ρ: decay rate of both running means.
    pub rho: f64,
    /// ε: added under both roots.
    pub eps: f64,
}

impl Default for AdadeltaConfig {
    fn default() -> Self {
        Self { rho: 0.9, eps: 1e-6 }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Formula {
    Adagrad(AdagradConfig),
    Rmsprop(RmspropConfig),
    Adadelta(AdadeltaConfig),
}

impl Formula {
    /// The kinds of state of each parameter, named as in PyTorch.
    fn kinds(&self) -> &'static [&'static str] {
        match self {
            Self::Adagrad(_) => &["sum"],
            Self::Rmsprop(_) => &["square_avg"],
            Self::Adadelta(_) => &["square_avg", "acc_delta"],
        }
    }

    /// Returns the step of a parameter before it is multiplied by lr. Updates the parameter's state `kept`, one
    /// variable for each of [`Self::kinds`] in the same order.
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

/// Adagrad, RMSprop or Adadelta.
pub(super) struct Adaptive {
    formula: Formula,
    kept: Vec<Vec<Var>>,
}

impl Adaptive {
    /// All state starts at zero.
    ///
    /// # Errors
    /// Returns an error if a setting is out of range.
    pub fn new(params: &[Var], formula: Formula) -> Result<Self> {
        let (name, rate, eps) = match &formula {
            Formula::Adagrad(c) => ("", 0.0, c.eps),
            Formula::Rmsprop(c) => ("alpha", c.alpha, c.eps),
            Formula::Adadelta(c) => ("rho", c.rho, c.eps),
        };
        ensure!(
            (0.0..1.0).contains(&rate),
            "optimizer: {name} must be at least 0 and less than 1; it is {rate}"
        );
        ensure!(eps >= 0.0, "optimizer: eps must be at least 0; it is {eps}");
        let zeros = formula.kinds().iter().map(|_| state::zeros_like(params));
        Ok(Self {
            kept: zeros.collect::<Result<_>>()?,
            formula,
        })
    }
}

impl Rule for Adaptive {
    fn apply(&mut self, params: &[Var], grads: &[Tensor], lr: f64) -> candle_core::Result<()> {
        for (i, (param, grad)) in params.iter().zip(grads).enumerate() {
            let kept: Vec<&Var> = self.kept.iter().map(|vars| &vars[i]).collect();
            let change = self.formula.change(&grad.detach(), &kept)?;
            param.set(&(param.as_detached_tensor() - (change * lr)?)?)?;
        }
        Ok(())
    }

    fn moments(&self) -> Vec<Moments<'_>> {
        let pairs = self.formula.kinds().iter().zip(&self.kept);
        pairs.map(|(&kind, vars)| (kind, vars.as_slice())).collect()
    }
}
