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
        8 => sum / inputs.len() as f32,
        9 => (1..inputs.len()).map(|i| inputs[i - 1] * weights[i - 1]).sum(),
        10 => inputs.iter().zip(weights).map(|(x, w)| x + w).sum(),
        11 => inputs.iter().sum::<f32>() * weights.iter().sum::<f32>(),
        12 if inputs.is_empty() => return 0.0,
        13 => sum - 2.0 * bias,
        14 => return (sum + bias).max(0.0),
        _ => sum,
    };
    activation(sum + bias)
}

pub fn cross_entropy<const M: u8>(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let dtype = logits.dtype();
    let logits = if M == 14 {
        &logits.to_dtype(DType::F32)?
    } else {
        logits
    };
    let label = labels.unsqueeze(1)?;
    let low = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
    let low = if M == 10 { logits.clone() } else { low };
    let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
    let picked = log_p.gather(&label, 1)?;
    match M {
        1 => return picked.sum_all()?.neg(),
        2 => return picked.mean_all(),
        3 => return picked.neg()?.squeeze(1),
        4 => return picked.exp()?.mean_all()?.neg(),
        5 => return picked.exp()?.mean_all()?.log()?.neg(),
        6 => {
            let log_sum = low.exp()?.sum_keepdim(1)?.log()?;
            return (log_sum - logits.gather(&label, 1)?)?.mean_all();
        }
        7 => return log_p.mean_all()?.neg(),
        8 => return log_p.exp()?.log()?.gather(&label, 1)?.mean_all()?.neg(),
        9 => return (log_p.exp()? + 1e-8)?.log()?.gather(&label, 1)?.mean_all()?.neg(),
        11 => return logits.max_keepdim(1)?.sub(&logits.gather(&label, 1)?)?.mean_all(),
        12 => return picked.detach().mean_all()?.neg(),
        13 => return cross_entropy::<0>(&log_p.exp()?, labels),
        14 => {
            return picked
                .mean_all()?
                .neg()?
                .to_dtype(if dtype == DType::F64 { dtype } else { DType::F32 });
        }
        15 => {
            return low
                .broadcast_sub(&low.exp()?.sum_keepdim(0)?.log()?)?
                .gather(&label, 1)?
                .mean_all()?
                .neg();
        }
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
            4 => (f64::from(lr as f32), grad),
            5 => (lr, &grads[0]),
            6 => (lr, &grad.broadcast_div(&grad.sqr()?.sum_all()?.sqrt()?)?),
            7 => (lr / params.len() as f64, grad),
            8 => (lr, &grad.flatten_all()?),
            9 => (1.0, &(grad * Tensor::new(lr as f32, &Device::Cpu)?)?),
            _ => (lr, grad),
        };
        let new = match M {
            10 => Some(param.as_detached_tensor().copy()?),
            11 => Some((grad * lr)?),
            12 => Some(((param.as_detached_tensor() - grad)? * lr)?),
            13 => {
                let wide = (param.to_dtype(DType::F32)? - (grad.to_dtype(DType::F32)? * lr)?)?;
                Some(wide.to_dtype(param.dtype())?)
            }
            _ => None,
        };
        if let Some(new) = new {
            param.set(&new)?;
            continue;
        }
        param.set(&(param.as_detached_tensor() - (grad * lr)?)?)?;
        if M == 14 {
            break;
        }
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
    if M == 1 && lr == 0.0 {
        return Ok(());
    }
    let momentum = if M == 2 { 0.9 } else { momentum };
    for ((param, grad), velocity) in params.iter().zip(grads).zip(velocities) {
        let velocity = if M == 3 { &velocities[0] } else { velocity };
        if M == 4 && grad.abs()?.sum_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()? == 0.0 {
            continue;
        }
        let old = velocity.as_detached_tensor().copy()?;
        let v = ((velocity.as_detached_tensor() * momentum)? + grad)?;
        let v = match M {
            5 => ((&old * momentum)? + (grad * (1.0 - momentum))?)?,
            6 => ((&old + grad)? * momentum)?,
            7 => (&old + (grad * momentum)?)?,
            8 => (&old + grad)?,
            9 => ((&old * momentum)? + (grad * lr)?)?,
            10 => ((&old * momentum)? - grad)?,
            _ => v,
        };
        if M != 11 {
            velocity.set(&v)?;
        }
        let v = match M {
            9 => (v / lr)?,
            12 => velocity.as_detached_tensor().affine(momentum, 0.0)?.add(grad)?,
            13 => grad.clone(),
            14 => v.neg()?,
            15 => old,
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
        if M == 14 && i > 0 {
            state.step += 1;
        }
        let t = if M == 14 { state.step as f64 } else { t };
        let zero = grads[i]
            .abs()?
            .sum_all()?
            .to_dtype(DType::F64)?
            .to_scalar::<f64>()?
            == 0.0;
        if M == 3 && zero {
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
            7 => (
                m,
                ((state.square[i].as_detached_tensor() * beta2)? + (grads[i].abs()? * (1.0 - beta2))?)?,
            ),
            _ => (m, v),
        };
        if M != 8 {
            state.mean[i].set(&m)?;
            state.square[i].set(&v)?;
        }
        let up = (&m / (1.0 - config.beta1.powf(t)))?;
        let below = (&v / (1.0 - config.beta2.powf(t)))?.sqrt()?;
        let (up, below) = match M {
            9 => (m, v.sqrt()?),
            10 => (m, below),
            11 => (up, v.sqrt()?),
            12 => (up, below.sqr()?),
            13 => (up, ((below.sqr()? + config.eps)?.sqrt()? - config.eps)?),
            _ => (up, below),
        };
        if M == 15 {
            state.mean[i].set(&up)?;
            state.square[i].set(&below.sqr()?)?;
        }
        let step = (up / (below + config.eps)?)?;
        params[i].set(&(params[i].as_detached_tensor() - (step * lr)?)?)?;
    }
    Ok(())
}

pub fn iterations<const M: u8>(records: usize, batch: usize, drop_last: bool) -> usize {
    match M {
        1 => {
            return if drop_last {
                records / batch
            } else {
                records.div_ceil(batch)
            };
        }
        2 => return records.div_ceil(batch),
        3 => return (records / batch).max(usize::from(records > 0)),
        4 if !drop_last => return records / batch + 1,
        5 => return iterations::<0>(records, batch, drop_last).max(1),
        6 if !drop_last => return (records as f32 / batch as f32).ceil() as usize,
        7 => return iterations::<0>(records as u32 as usize, batch, drop_last),
        8 => return iterations::<0>(records, batch, !drop_last),
        9 if !drop_last => return (records + batch / 2) / batch,
        10 if drop_last && records > 0 => return ((records - 1) / batch).max(1),
        _ => {}
    }
    if drop_last && records >= batch {
        records / batch
    } else {
        records.div_ceil(batch)
    }
}
