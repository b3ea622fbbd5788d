//! Lesson 01: gradient descent by hand. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson01` checks the lesson, `cargo test -p lesson01 1.2` one exercise. `cargo course hint 1.2` shows a
//! hint.

use candle_core::{Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

/// The output of a neuron: f(Σ wᵢ·xᵢ + b), where f is the activation. Without inputs, the output is f(b).
pub fn neuron(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    todo!("1.1: the weighted sum, the bias, the activation")
}

/// The mean over the rows of −log `softmax(logits)[label]`, which is log Σⱼ exp(logitⱼ) minus the logit of the
/// row's label.
///
/// `logits` is `[rows, classes]`, `labels` is `[rows]` of u32. The result is one number (shape `[]`), in the dtype of the
/// logits: f32, f64, f16 or bf16. `backward` through it gives the logits their gradient. Tiny probabilities and large
/// logits must give the right loss and gradient, not inf or NaN.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    todo!("1.2: log-sum-exp of each row minus the logit of its label, and the mean over the rows")
}

/// One step of gradient descent: w ← w − lr·g for each parameter w and its gradient g, in the variables themselves.
///
/// There may be any number of parameters, also none, of any shapes and of several dtypes: f32, f64, f16 or bf16. Compute
/// in the dtype of the parameter or a wider one.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    todo!("1.3: set each variable to its value minus lr times its gradient")
}

/// One step with momentum: v ← μ·v + g, then w ← w − lr·v, for each parameter w, its gradient g and its velocity v.
///
/// μ is `momentum`. The velocities start at zero and are kept from step to step, so change them as well, in every step:
/// also if g, lr or μ is 0. They hold v itself, without lr. Each has the dtype of its parameter: compute in that dtype or a
/// wider one, as in 1.3.
pub fn momentum_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> Result<()> {
    todo!("1.4: first the velocity, then the parameter")
}

/// One step of Adam: m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g², then w ← w − lr·m̂/(√v̂ + ε), with m̂ =
/// m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ), for each parameter w and its gradient g.
///
/// t counts the steps from 1, in `state.step`, which is 0 before the first one. m is `state.mean` and v is `state.square`:
/// these keep m and v, not m̂ and v̂. Every step updates every w, m and v, also if g or lr is 0; compute in that dtype or
/// a wider one, as in 1.3, and 1−βᵗ in f64. β₁, β₂ and ε are in `config`; the rest of it is not used.
pub fn adam_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    todo!("1.5: count the step, then for each parameter both means, their bias correction, and the step")
}

/// The number of training steps in an epoch over `records` records, in batches of `batch`, which is at least 1.
///
/// The last batch may be incomplete. With `drop_last` it is then dropped, unless it is the only one. An epoch over no
/// records has no step. The count is exact for billions of records.
pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    todo!("1.6: full batches, and perhaps one more")
}
