use candle_core::{Result, Tensor, Var, bail};
use serde::{Deserialize, Serialize};

use super::state;
use crate::kernels::multi_tensor::{self, AdamStep};

// ANCHOR: AdamConfig
/// Settings of Adam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// β₁: decay rate of the running mean of the gradients.
    pub beta1: f64,
    /// β₂: decay rate of the running mean of the squared gradients.
    pub beta2: f64,
    /// ε: added to the root of the second moment.
    pub eps: f64,
    /// λ: λ times the parameter is added to its gradient.
    pub weight_decay: f64,
    /// Whether weight decay is decoupled, as in AdamW: each step then multiplies the parameter by 1 − lr·λ, and the
    /// gradient does not change. `OptimConfig::AdamW` sets it.
    #[serde(skip)]
    pub decoupled: bool,
}
// ANCHOR_END: AdamConfig

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
        }
    }
}

impl AdamConfig {
    /// The settings of a step. [`AdamState::advance`] sets the number of the step.
    pub(super) fn step(&self, lr: f64) -> AdamStep {
        AdamStep {
            lr,
            beta1: self.beta1,
            beta2: self.beta2,
            eps: self.eps,
            weight_decay: self.weight_decay,
            decoupled: self.decoupled,
            step: 0,
        }
    }
}

// ANCHOR: AdamState
/// Adam's state: what is kept from one step to the next.
#[derive(Clone, Debug)]
pub struct AdamState {
    /// Steps taken.
    pub step: u64,
    /// Running mean of the gradients of each parameter, m.
    pub mean: Vec<Var>,
    /// Running mean of the squared gradients of each parameter, v.
    pub square: Vec<Var>,
}
// ANCHOR_END: AdamState

impl AdamState {
    /// The state before the first step: both means are zero.
    ///
    /// # Errors
    /// Returns an error if the device is out of memory.
    pub fn zeros_like<'a>(params: impl IntoIterator<Item = &'a Var> + Clone) -> anyhow::Result<Self> {
        Ok(Self {
            step: 0,
            mean: state::zeros_like(params.clone())?,
            square: state::zeros_like(params)?,
        })
    }

    /// Takes one step and counts it. One call of `fused` updates all parameters that the multi-tensor kernels support;
    /// `plain` updates the others one by one.
    pub(super) fn advance(
        &mut self,
        params: &[Var],
        grads: &[Tensor],
        step: AdamStep,
        fused: Fused,
        plain: Plain,
    ) -> Result<()> {
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
        let ([w, g, m, v], others) = state::served(n, of);
        fused(&w, &g, &m, &v, &step)?;
        for i in others {
            plain(&params[i], &grads[i], [&means[i], &squares[i]], &step)?;
        }
        self.step += 1;
        Ok(())
    }
}

/// Takes one step for many weights. The arguments are weights, gradients, means, squares and settings.
pub(super) type Fused = fn(&[&Tensor], &[&Tensor], &[&Tensor], &[&Tensor], &AdamStep) -> Result<()>;

/// Takes one step for one weight. The arguments are the weight, its gradient, `[mean, square]` and the settings.
pub(super) type Plain = fn(&Var, &Tensor, [&Var; 2], &AdamStep) -> Result<()>;

/// Takes one step of Adam (Kingma and Ba 2015, algorithm 1) for each of `params`, or of AdamW (Loshchilov and Hutter 2019)
/// if the weight decay is decoupled; both as in PyTorch.
///
/// # Errors
/// Returns an error if gradients or state do not fit the parameters.
pub fn adam_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    state.advance(params, grads, config.step(lr), multi_tensor::adam, plain)
}

/// Updates both running means with the gradient g and returns them: m ← m + (1−β₁)(g − m) and v ← β₂v + (1−β₂)g².
pub(super) fn new_moments([mean, square]: [&Var; 2], g: &Tensor, s: &AdamStep) -> Result<[Tensor; 2]> {
    let m = mean.as_detached_tensor();
    let m = (&m + ((g - &m)? * (1.0 - s.beta1))?)?;
    let v = ((square.as_detached_tensor() * s.beta2)? + (g.sqr()? * (1.0 - s.beta2))?)?;
    mean.set(&m)?;
    square.set(&v)?;
    Ok([m, v])
}

/// The bias corrections of both means, which start at zero: 1 − β₁ᵗ and 1 − β₂ᵗ.
pub(super) fn corrections(s: &AdamStep) -> [f64; 2] {
    [s.beta1, s.beta2].map(|beta| 1.0 - beta.powf(s.step as f64))
}

/// The step with candle's operators, for every device and dtype. It is the specification of the kernel.
fn plain(param: &Var, grad: &Tensor, state: [&Var; 2], s: &AdamStep) -> Result<()> {
    let (keep, decay) = match s.decoupled {
        true => (1.0 - s.lr * s.weight_decay, 0.0),
        false => (1.0, s.weight_decay),
    };
    let w = (param.as_detached_tensor() * keep)?;
    let g = (grad.detach() + (&w * decay)?)?;
    let [m, v] = new_moments(state, &g, s)?;
    let [first, second] = corrections(s);
    let below = ((v.sqrt()? / second.sqrt())? + s.eps)?;
    param.set(&(w - ((m / below)? * (s.lr / first))?)?)
}
