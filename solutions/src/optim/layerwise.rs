//! Optimizers for large batches: each tensor's step is scaled by the norm of its weights.

use candle_core::{Result, Tensor, Var, bail};
use serde::{Deserialize, Serialize};

use super::adam::{AdamConfig, AdamState, corrections, new_moments};
use super::clip::sum_of_squares;
use crate::kernels::multi_tensor::{self, AdamStep, LarsStep};

// ANCHOR: LarsConfig
/// Settings of LARS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LarsConfig {
    /// Fraction μ of the velocity that is kept from step to step.
    pub momentum: f64,
    /// λ: λ times the weight is added to its gradient.
    pub weight_decay: f64,
    /// η, the trust coefficient: at learning rate 1 and without momentum, a tensor's step is about this fraction of the
    /// norm of its weights.
    pub trust: f64,
    /// Whether tensors with at most one axis (biases, γ and β of batch norm) also get a trust ratio and weight
    /// decay. Most implementations leave them out.
    pub vectors: bool,
}
// ANCHOR_END: LarsConfig

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

impl LarsConfig {
    fn step(&self, lr: f64, adapted: bool) -> LarsStep {
        LarsStep {
            lr,
            momentum: self.momentum,
            weight_decay: self.weight_decay,
            trust: self.trust,
            adapted,
        }
    }
}

/// The norms of a tensor and of what it moves along.
fn norms(weight: &Tensor, direction: &Tensor) -> Result<[f64; 2]> {
    let squares = |tensor| sum_of_squares(std::slice::from_ref(tensor));
    Ok([squares(weight)?.sqrt(), squares(direction)?.sqrt()])
}

/// LARS's local learning rate η‖w‖/(‖g‖ + λ‖w‖) (You, Gitman and Ginsburg 2017, equation 6), where η is `trust` and λ
/// is `weight_decay`. Returns 1 if the norm of the weights or of the gradient is 0.
pub fn trust_ratio(weight_norm: f64, grad_norm: f64, weight_decay: f64, trust: f64) -> f64 {
    if weight_norm == 0.0 || grad_norm == 0.0 {
        return 1.0;
    }
    trust * weight_norm / (grad_norm + weight_decay * weight_norm)
}

/// Takes one step of LARS (You, Gitman and Ginsburg 2017, algorithm 1) for each of `params`: v ← μv + lr·ratio·(g +
/// λw), w ← w − v, where ratio is the tensor's own [`trust_ratio`]. `velocities` has a variable of the same shape for
/// each parameter; all are zero before the first step.
///
/// # Errors
/// Returns an error if gradients or velocities do not fit the parameters.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    let n = params.len();
    if [grads.len(), velocities.len()] != [n; 2] {
        let (g, v) = (grads.len(), velocities.len());
        bail!("lars: {n} parameters with {g} gradients and {v} velocities");
    }
    for adapted in [true, false] {
        let own: Vec<usize> = (0..n)
            .filter(|&i| (config.vectors || params[i].rank() > 1) == adapted)
            .collect();
        let step = config.step(lr, adapted);
        let of = |i: usize| [params[i].as_tensor(), &grads[i], velocities[i].as_tensor()];
        let [w, g, v] = std::array::from_fn(|k| own.iter().map(|&i| of(i)[k]).collect::<Vec<_>>());
        if multi_tensor::lars_on_gpu(&w, &g, &v, &step)? {
            continue;
        }
        for i in own {
            plain_lars(&params[i], &grads[i], &velocities[i], &step)?;
        }
    }
    Ok(())
}

/// The step of one parameter with candle's operators, for every device and dtype. It is the specification of the kernel.
fn plain_lars(param: &Var, grad: &Tensor, velocity: &Var, s: &LarsStep) -> Result<()> {
    let (w, g) = (param.as_detached_tensor(), grad.detach());
    let (ratio, decay) = match s.adapted {
        true => {
            let [w, g] = norms(&w, &g)?;
            (trust_ratio(w, g, s.weight_decay, s.trust), s.weight_decay)
        }
        false => (1.0, 0.0),
    };
    let direction = ((g + (&w * decay)?)? * (s.lr * ratio))?;
    let next = ((velocity.as_detached_tensor() * s.momentum)? + direction)?;
    param.set(&(w - &next)?)?;
    velocity.set(&next)
}

// ANCHOR: LambConfig
/// Settings of LAMB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LambConfig {
    /// β₁: decay rate of the running mean of the gradients.
    pub beta1: f64,
    /// β₂: decay rate of the running mean of the squared gradients.
    pub beta2: f64,
    /// ε: added to the root of the second moment.
    pub eps: f64,
    /// λ: λ times the weight is added to the direction.
    pub weight_decay: f64,
}
// ANCHOR_END: LambConfig

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

impl LambConfig {
    /// The same settings for Adam. `decoupled` is false, because LAMB itself adds the weight decay to its direction.
    fn adam(&self) -> AdamConfig {
        AdamConfig {
            beta1: self.beta1,
            beta2: self.beta2,
            eps: self.eps,
            weight_decay: self.weight_decay,
            decoupled: false,
        }
    }
}

/// Takes one step of LAMB (You et al. 2020, algorithm 2) for each of `params`. With Adam's bias-corrected moments m̂
/// and v̂, it computes r = m̂/(√v̂ + ε) + λw and w ← w − lr·(‖w‖/‖r‖)·r. The ratio ‖w‖/‖r‖ is replaced by 1 if either
/// norm is 0.
///
/// # Errors
/// Returns an error if gradients or state do not fit the parameters.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    state.advance(params, grads, config.adam().step(lr), multi_tensor::lamb, plain)
}

/// The step with candle's operators, for every device and dtype. It is the specification of the kernel.
fn plain(param: &Var, grad: &Tensor, state: [&Var; 2], s: &AdamStep) -> Result<()> {
    let [m, v] = new_moments(state, &grad.detach(), s)?;
    let [first, second] = corrections(s);
    let adam = ((m / first)? / ((v / second)?.sqrt()? + s.eps)?)?;
    let direction = (adam + (param.as_detached_tensor() * s.weight_decay)?)?;
    let norms = norms(param, &direction)?;
    let ratio = match norms.iter().all(|&norm| norm > 0.0) {
        true => norms[0] / norms[1],
        false => 1.0,
    };
    param.set(&(param.as_detached_tensor() - (direction * (s.lr * ratio))?)?)
}
