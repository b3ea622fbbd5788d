//! A submission of lesson 01 with right answers only. It is no module: hostile submissions replace a part of it.

use candle_core::{Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

pub fn neuron(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    let sum: f32 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum();
    activation(sum + bias)
}

pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let low = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
    let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
    log_p.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?.neg()
}

pub fn sgd_step(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    for (param, grad) in params.iter().zip(grads) {
        param.set(&(param.as_detached_tensor() - (grad * lr)?)?)?;
    }
    Ok(())
}

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

pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    if drop_last && records >= batch {
        records / batch
    } else {
        records.div_ceil(batch)
    }
}
