//! Optimizers that scale the step of each weight by its past gradients: Adagrad, RMSprop, Adadelta.
//!
//! They are here for comparison. They use candle's operators: there are no fused kernels for them.

use candle_core::{Result, Tensor, Var};
use serde::{Deserialize, Serialize};

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

/// Steps each parameter against its gradient, scaled by `scaled(gradient, states)`, which updates the parameter's states.
pub(super) fn step<const N: usize>(
    params: &[Var],
    grads: &[Tensor],
    states: [&[Var]; N],
    lr: f64,
    scaled: impl Fn(&Tensor, [&Var; N]) -> Result<Tensor>,
) -> Result<()> {
    for (i, (param, grad)) in params.iter().zip(grads).enumerate() {
        let change = scaled(&grad.detach(), states.map(|vars| &vars[i]))?;
        param.set(&(param.as_detached_tensor() - (change * lr)?)?)?;
    }
    Ok(())
}

impl AdagradConfig {
    pub(super) fn scaled(&self, grad: &Tensor, [sum]: [&Var; 1]) -> Result<Tensor> {
        sum.set(&(sum.as_detached_tensor() + grad.sqr()?)?)?;
        grad / (sum.as_detached_tensor().sqrt()? + self.eps)?
    }
}

impl RmspropConfig {
    pub(super) fn scaled(&self, grad: &Tensor, [mean]: [&Var; 1]) -> Result<Tensor> {
        grad / (running(mean, grad, self.alpha)?.sqrt()? + self.eps)?
    }
}

impl AdadeltaConfig {
    pub(super) fn scaled(&self, grad: &Tensor, [mean, steps]: [&Var; 2]) -> Result<Tensor> {
        let square = running(mean, grad, self.rho)?;
        let top = (steps.as_detached_tensor() + self.eps)?.sqrt()?;
        let change = ((top / (square + self.eps)?.sqrt()?)? * grad)?;
        running(steps, &change, self.rho)?;
        Ok(change)
    }
}

/// Updates the running mean of the squares of `new` and returns it.
fn running(mean: &Var, new: &Tensor, keep: f64) -> Result<Tensor> {
    let next = ((mean.as_detached_tensor() * keep)? + (new.sqr()? * (1.0 - keep))?)?;
    mean.set(&next)?;
    Ok(next)
}
