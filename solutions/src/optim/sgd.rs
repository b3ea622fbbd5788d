use candle_core::{Result, Tensor, Var, bail};
use serde::{Deserialize, Serialize};

use super::state;
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

impl SgdConfig {
    /// SGD with this momentum, and nothing else.
    pub fn with_momentum(momentum: f64) -> Self {
        Self {
            momentum,
            ..Self::default()
        }
    }

    fn step(&self, lr: f64) -> SgdStep {
        SgdStep {
            lr,
            momentum: self.momentum,
            weight_decay: self.weight_decay,
            nesterov: self.nesterov,
        }
    }
}

/// One step of gradient descent: w ← w − lr·g for each of `params` and its gradient.
///
/// # Errors
/// Returns an error if the gradients do not fit the parameters.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    descend(params, grads, &[], lr, &SgdConfig::with_momentum(0.0))
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
) -> Result<()> {
    let (n, v) = (params.len(), velocities.len());
    if v != n {
        bail!("sgd: {n} parameters with {v} velocities");
    }
    descend(params, grads, velocities, lr, &SgdConfig::with_momentum(momentum))
}

/// One step of SGD as in PyTorch, without dampening: v ← μv + (g + λw), w ← w − lr·v; with Nesterov's momentum w ← w −
/// lr·(g + λw + μv). The velocity does not contain the learning rate, so a change of the learning rate takes effect at
/// once.
///
/// `velocities` is empty if there is no momentum. One call of the multi-tensor kernel updates all parameters that it
/// supports; [`plain`] updates the others, and all of them if there is no momentum.
pub(super) fn descend(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &SgdConfig,
) -> Result<()> {
    let n = params.len();
    if grads.len() != n {
        bail!("sgd: {n} parameters with {} gradients", grads.len());
    }
    let step = config.step(lr);
    if velocities.is_empty() {
        return (0..n).try_for_each(|i| plain(&params[i], &grads[i], None, &step));
    }
    let ([w, g, v], others) = state::served(n, |i| {
        [params[i].as_tensor(), &grads[i], velocities[i].as_tensor()]
    });
    multi_tensor::sgd(&w, &g, &v, &step)?;
    others
        .into_iter()
        .try_for_each(|i| plain(&params[i], &grads[i], Some(&velocities[i]), &step))
}

/// The step of one parameter with candle's operators, for every device and dtype. It is the specification of the
/// kernel.
fn plain(param: &Var, grad: &Tensor, velocity: Option<&Var>, s: &SgdStep) -> Result<()> {
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
