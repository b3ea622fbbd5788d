//! Lesson 01: gradient descent by hand. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson01` checks all, `cargo test -p lesson01 1.2` one exercise. `cargo course hint 1.2` helps.

use candle_core::{D, DType, Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

/// A neuron's output: f(Σ wᵢ·xᵢ + b), f being the activation.
///
/// There are as many `weights` as `inputs`; without any, the sum is 0.
pub fn neuron(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    todo!("1.1: the weighted sum, the bias, the activation")
}

/// The mean over the rows of −log `softmax(logits)[label]`, that is log Σⱼ exp(logitⱼ) − logit of the row's label.
///
/// `logits` is `[rows, classes]` of floats, `labels` is `[rows]` of u32. The result is one number (shape `[]`) of
/// the logits' type, and `backward` can run through it to the logits. Logits of ±1,000 must give the right loss,
/// not inf or NaN.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    todo!("1.2: log-sum-exp of each row, less the logit of its label, and the mean of that")
}

/// One step of gradient descent: w ← w − lr·g for each parameter w and its gradient g.
///
/// `grads` are in the order of `params`, each of its parameter's shape. The variables themselves are changed.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    todo!("1.3: set each variable to a value a little down its gradient")
}

/// One step with momentum: v ← μ·v + g, then w ← w − lr·v, for each parameter w, its gradient g and its velocity v.
///
/// μ is `momentum`. The velocities begin at zero and are kept from step to step: they are changed here as well.
pub fn momentum_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> Result<()> {
    todo!("1.4: first the velocity, then the parameter")
}

/// One step of Adam: m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g², then w ← w − lr·m̂/(√v̂ + ε), where
/// m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ), for each parameter w and its gradient g.
///
/// t counts the steps from 1: `state.step` is 0 before the first, and is t after step t. m is `state.mean`, v is
/// `state.square`, one variable for each parameter, both zero at first. β₁, β₂ and ε are `beta1`, `beta2` and
/// `eps` of `config`; its `weight_decay` is 0 in this lesson, and you need not look at it.
pub fn adam_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    todo!("1.5: count the step, then for each parameter both means, their corrections, and the step")
}

/// How many training steps an epoch has: over `records` records in batches of `batch`, which is at least 1.
///
/// The last batch may not be full. With `drop_last` it is then left out, unless it is the only one: an epoch over
/// some records is never empty. An epoch over no records has no step.
pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    todo!("1.6: full batches, and perhaps one more")
}
