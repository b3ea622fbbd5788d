//! Lesson 01: gradient descent by hand. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson01` checks the lesson, `cargo test -p lesson01 1.2` one exercise. `cargo course hint 1.2` shows
//! a hint.

use candle_core::{Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

/// The output of a neuron: f(Σ wᵢ·xᵢ + b), where f is the activation.
pub fn neuron(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    todo!("1.1: the weighted sum, the bias, the activation")
}

/// Returns the mean cross-entropy of logits `[rows, classes]` and u32 labels `[rows]`, a scalar `[]` in the dtype of
/// the logits.
///
/// Loss and gradient are right even for tiny probabilities and large logits.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    todo!("1.2: log-sum-exp of each row minus the logit of its label, and the mean over the rows")
}

/// Takes one step of gradient descent, w ← w − lr·g, for each parameter w and its gradient g.
///
/// Compute in the dtype of the parameter or a wider one.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    todo!("1.3: set each variable to its value minus lr times its gradient")
}

/// Takes one step with momentum μ for each parameter w, its gradient g and velocity v: v ← μ·v + g, then w ← w − lr·v.
/// Dtypes are as in 1.3.
pub fn momentum_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> Result<()> {
    todo!("1.4: first the velocity, then the parameter")
}

/// Takes one step of Adam for each parameter w and its gradient g: m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g²,
/// then w ← w − lr·m̂/(√v̂ + ε), where m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ).
///
/// Add 1 to `state.step` first: it is t. Dtypes are as in 1.3; compute 1−βᵗ in f64.
pub fn adam_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    todo!("1.5: count the step, then for each parameter both means, their bias correction, and the step")
}

/// Counts the steps of an epoch over `records` records, in batches of `batch ≥ 1`.
///
/// `drop_last` drops an incomplete last batch, unless it is the only one. No records take no steps.
pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    todo!("1.6: full batches, and perhaps one more")
}
