//! Lesson 01: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each other
//! number is one known mistake, whose cause is in the exercise's file.

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

pub fn neuron<const M: u8>(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    let sum: f32 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum();
    let sum = match M {
        1 => sum - bias,
        2 => sum + bias * inputs.len() as f32 - bias,
        3 => return sum + bias,
        4 => return activation(sum) + bias,
        5 => inputs.iter().zip(weights).map(|(x, w)| activation(x * w)).sum(),
        6 => return activation(activation(sum + bias)),
        7 => inputs.iter().zip(weights.iter().rev()).map(|(x, w)| x * w).sum(),
        8 => (1..inputs.len()).map(|i| inputs[i - 1] * weights[i - 1]).sum(),
        9 => inputs.iter().zip(weights).map(|(x, w)| x + w).sum(),
        10 => return (sum + bias).max(0.0),
        _ => sum,
    };
    activation(sum + bias)
}

pub fn cross_entropy<const M: u8>(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let label = labels.unsqueeze(1)?;
    let low = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
    let low = if M == 8 { logits.clone() } else { low };
    let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
    let picked = log_p.gather(&label, 1)?;
    match M {
        1 => return picked.sum_all()?.neg(),
        2 => return picked.mean_all(),
        3 => return picked.exp()?.mean_all()?.neg(),
        4 => {
            let log_sum = low.exp()?.sum_keepdim(1)?.log()?;
            return (log_sum - logits.gather(&label, 1)?)?.mean_all();
        }
        5 => return log_p.mean_all()?.neg(),
        6 => return log_p.exp()?.log()?.gather(&label, 1)?.mean_all()?.neg(),
        7 => return (log_p.exp()? + 1e-8)?.log()?.gather(&label, 1)?.mean_all()?.neg(),
        9 => return picked.detach().mean_all()?.neg(),
        10 => return cross_entropy::<0>(&log_p.exp()?, labels),
        _ => {}
    }
    log_p.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?.neg()
}

pub fn sgd_step<const M: u8>(params: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    for (param, grad) in params.iter().zip(grads) {
        let (lr, grad) = match M {
            1 => (-lr, grad),
            2 => (1.0, grad),
            3 => (lr, &grad.sign()?),
            4 => (lr, &grad.broadcast_div(&grad.sqr()?.sum_all()?.sqrt()?)?),
            5 => (1.0, &(grad * Tensor::new(lr as f32, &Device::Cpu)?)?),
            _ => (lr, grad),
        };
        let new = match M {
            6 => Some((grad * lr)?),
            7 => Some(((param.as_detached_tensor() - grad)? * lr)?),
            _ => None,
        };
        if let Some(new) = new {
            param.set(&new)?;
            continue;
        }
        param.set(&(param.as_detached_tensor() - (grad * lr)?)?)?;
    }
    Ok(())
}

pub fn momentum_step<const M: u8>(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    momentum: f64,
) -> Result<()> {
    let momentum = if M == 1 { 0.9 } else { momentum };
    for ((param, grad), velocity) in params.iter().zip(grads).zip(velocities) {
        if M == 2 && grad.abs()?.sum_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()? == 0.0 {
            continue;
        }
        let old = velocity.as_detached_tensor().copy()?;
        let v = ((velocity.as_detached_tensor() * momentum)? + grad)?;
        let v = match M {
            3 => ((&old * momentum)? + (grad * (1.0 - momentum))?)?,
            4 => ((&old + grad)? * momentum)?,
            5 => (&old + grad)?,
            6 => ((&old * momentum)? + (grad * lr)?)?,
            7 => ((&old * momentum)? - grad)?,
            _ => v,
        };
        if M != 8 {
            velocity.set(&v)?;
        }
        let v = match M {
            6 => (v / lr)?,
            9 => velocity.as_detached_tensor().affine(momentum, 0.0)?.add(grad)?,
            10 => grad.clone(),
            11 => old,
            _ => v,
        };
        param.set(&(param.as_detached_tensor() - (v * lr)?)?)?;
    }
    Ok(())
}

pub fn adam_step<const M: u8>(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    state.step += 1;
    let t = state.step as f64;
    let t = match M {
        1 => 1.0,
        2 => t + 1.0,
        _ => t,
    };
    for i in 0..params.len() {
        if M == 3
            && grads[i]
                .abs()?
                .sum_all()?
                .to_dtype(DType::F64)?
                .to_scalar::<f64>()?
                == 0.0
        {
            continue;
        }
        let config = if M == 4 { &AdamConfig::default() } else { config };
        let (beta1, beta2) = (config.beta1, config.beta2);
        let m = state.mean[i].as_detached_tensor();
        let m = ((m * config.beta1)? + (&grads[i] * (1.0 - config.beta1))?)?;
        let v = state.square[i].as_detached_tensor();
        let v = ((v * config.beta2)? + (grads[i].sqr()? * (1.0 - config.beta2))?)?;
        let (m, v) = match M {
            5 => (
                m,
                ((state.square[i].as_detached_tensor() * beta2)? + grads[i].sqr()?)?,
            ),
            6 => (((state.mean[i].as_detached_tensor() * beta1)? + &grads[i])?, v),
            _ => (m, v),
        };
        if M != 7 {
            state.mean[i].set(&m)?;
            state.square[i].set(&v)?;
        }
        let up = (&m / (1.0 - config.beta1.powf(t)))?;
        let below = (&v / (1.0 - config.beta2.powf(t)))?.sqrt()?;
        let (up, below) = match M {
            8 => (m, v.sqrt()?),
            9 => (m, below),
            10 => (up, v.sqrt()?),
            11 => (up, ((below.sqr()? + config.eps)?.sqrt()? - config.eps)?),
            12 => {
                let root = (1.0 - beta2.powf(t)).sqrt();
                (up, (below + (config.eps / root - config.eps))?)
            }
            _ => (up, below),
        };
        let step = (up / (below + config.eps)?)?;
        params[i].set(&(params[i].as_detached_tensor() - (step * lr)?)?)?;
    }
    Ok(())
}

pub fn iterations<const M: u8>(records: usize, batch: usize, drop_last: bool) -> usize {
    match M {
        1 if drop_last => return records / batch,
        2 => return records.div_ceil(batch),
        3 => return (records / batch).max(usize::from(records > 0)),
        4 if !drop_last => return records / batch + 1,
        5 => return iterations::<0>(records, batch, drop_last).max(1),
        6 if !drop_last => return (records as f32 / batch as f32).ceil() as usize,
        8 => return iterations::<0>(records, batch, !drop_last),
        9 if !drop_last => return (records + batch / 2) / batch,
        7 if drop_last && records > 0 => return ((records - 1) / batch).max(1),
        _ => {}
    }
    if drop_last && records >= batch {
        records / batch
    } else {
        records.div_ceil(batch)
    }
}
