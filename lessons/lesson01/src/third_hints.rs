//! Lesson 01: the third hint of each exercise, completed as a student does who has no other idea.

use candle_core::{Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

/// The output of a neuron: f(Σ wᵢ·xᵢ + b), where f is the activation.
///
/// There are as many `weights` as `inputs`, any number. Without inputs, the output is f(b). You may add in any order.
pub fn neuron(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    let sum: f32 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum();
    activation(sum + bias)
}

/// The mean over the rows of −log `softmax(logits)[label]`, which is log Σⱼ exp(logitⱼ) minus the logit of the
/// row's label.
///
/// `logits` is `[rows, classes]`, contiguous and finite, with at least one row. `labels` is `[rows]` of u32, each less
/// than `classes`. The result is one number (shape `[]`) in the dtype of the logits: f32, f64, f16 or bf16. Compute in
/// that dtype or a wider one: sums that f16 or bf16 rounds are fine. `backward` through it gives the logits their
/// gradient. Tiny probabilities and large logits, in f32 up to ±1,000,000, must give the right gradient, and a loss
/// that is right up to the rounding of the logits: not inf or NaN.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let low = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
    let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
    log_p.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?.neg()
}

/// One step of gradient descent: w ← w − lr·g for each parameter w and its gradient g.
///
/// `grads` are in the order of `params`, each with the shape and dtype of its parameter. The function changes the
/// variables themselves. There may be any number of parameters, also none, of any shapes, and of several dtypes in one
/// call: f32, f64, f16 or bf16. Compute in the dtype of the parameter or a wider one: for f64, `lr` is not rounded to
/// f32.
pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    for (param, grad) in params.iter().zip(grads) {
        param.set(&(param.as_detached_tensor() - (grad * lr)?)?)?;
    }
    Ok(())
}

/// One step with momentum: v ← μ·v + g, then w ← w − lr·v, for each parameter w, its gradient g and its velocity v.
///
/// μ is `momentum`. The velocities start at zero and are kept from step to step, so the function changes them as
/// well, in every step: also if g, lr or μ is 0. They hold v itself, without lr. `grads` and `velocities` are in the
/// order of `params`, each with the shape and dtype of its parameter: compute in that dtype or a wider one, as in 1.3.
pub fn momentum_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> Result<()> {
    for ((param, grad), velocity) in params.iter().zip(grads).zip(velocities) {
        let v = ((velocity.as_detached_tensor() * momentum)? + grad)?;
        velocity.set(&v)?;
        param.set(&(param.as_detached_tensor() - (v * lr)?)?)?;
    }
    Ok(())
}

/// One step of Adam: m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g², then w ← w − lr·m̂/(√v̂ + ε), with m̂ =
/// m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ), for each parameter w and its gradient g.
///
/// t counts the steps from 1: `state.step` is 0 before the first step, and t after step t, also without parameters.
/// m is `state.mean` and v is `state.square`: these keep m and v, not m̂ and v̂, and are zero at first. `grads`,
/// `state.mean` and `state.square` are in the order of `params`, each with the shape and dtype of its parameter:
/// compute in that dtype or a wider one, as in 1.3. Every step updates every w, m and v, also if g or lr is 0. Each w
/// is changed by `set`; for m and v, a new variable in the list is right too. β₁, β₂ and ε are `beta1`, `beta2` and
/// `eps` of `config`. Its `weight_decay` is 0, and `decoupled` is false.
pub fn adam_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    state.step += 1;
    let t = state.step as f64;
    for i in 0..params.len() {
        let m = state.mean[i].as_detached_tensor();
        let m = ((m * config.beta1)? + (&grads[i] * (1.0 - config.beta1))?)?;
        let v = state.square[i].as_detached_tensor();
        let v = ((v * config.beta2)? + (grads[i].sqr()? * (1.0 - config.beta2))?)?;
        state.mean[i].set(&m)?;
        state.square[i].set(&v)?;
        let up = (&m / (1.0 - config.beta1.powf(t)))?;
        let below = (&v / (1.0 - config.beta2.powf(t)))?.sqrt()?;
        let step = (up / (below + config.eps)?)?;
        params[i].set(&(params[i].as_detached_tensor() - (step * lr)?)?)?;
    }
    Ok(())
}

/// The number of training steps in an epoch over `records` records, in batches of `batch`, which is at least 1.
///
/// The last batch may be incomplete. With `drop_last` it is then dropped, unless it is the only one: an epoch over
/// some records is never empty. An epoch over no records has no step. The count is exact for any number of records;
/// `records + batch` does not overflow.
pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    if drop_last && records >= batch {
        records / batch
    } else {
        records.div_ceil(batch)
    }
}
