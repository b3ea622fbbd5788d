//! Lesson 06: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{
    BF16, Backward, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Overflow, Product,
    TensorCores,
};

use crate::{Low, Step};

pub fn round_to<const M: u8>(x: f32, format: Format) -> f32 {
    if M == 1 {
        return round_to::<0>(x, format) + 0.0;
    }
    if x.is_nan() || x == 0.0 {
        return x;
    }
    let format = match M {
        2 => format.with(Overflow::Saturate),
        3 => format.with(Overflow::Infinity),
        _ => format,
    };
    let wide = f64::from(x);
    let exponent = wide.abs().log2().floor() as i32;
    let in_f32 = x.abs().log2().floor() as i32;
    let exponent = if M == 4 { in_f32 } else { exponent };
    let exponent = exponent.max(format.least_exponent());
    // An infinity stays one, and overflows.
    let exponent = if M == 5 { exponent } else { exponent.min(127) };
    let spacing = 2f64.powi(exponent - format.mantissa as i32);
    let in_f32 = 2f32.powi(exponent - format.mantissa as i32);
    let spacing = if M == 6 { f64::from(in_f32) } else { spacing };
    let rounded = (wide / spacing).round_ties_even() * spacing;
    let rounded = match M {
        7 => (wide / spacing).round() * spacing,
        8 if wide.abs() > format.max => wide,
        8 => return rounded as f32,
        _ => rounded,
    };
    if rounded.abs() > format.max {
        return match format.overflow {
            Overflow::Infinity => f32::INFINITY.copysign(x),
            Overflow::Nan => f32::NAN,
            Overflow::Saturate => (format.max as f32).copysign(x),
        };
    }
    rounded as f32
}

pub fn autocast<const M: u8>(operator: Operator) -> Casting {
    use Operator::*;
    match (M, operator) {
        (1, _) => return Casting::Low,
        (2, _) | (3, Matmul | Linear | Convolution) | (4, Max) => return Casting::Full,
        (3, _) if autocast::<0>(operator) == Casting::Full => return Casting::Low,
        (5, CrossEntropy | MeanSquaredError) | (6, Relu | Max | Dropout | Reshape) => return Casting::Widest,
        (6, Add | Concatenate) => return Casting::AsIs,
        _ => {}
    }
    match operator {
        Matmul | Linear | Convolution => Casting::Low,
        Sum | Mean | Norm | Exp | Log | Power => Casting::Full,
        Softmax | CrossEntropy | MeanSquaredError => Casting::Full,
        BatchNorm | LayerNorm => Casting::Full,
        Add | Concatenate => Casting::Widest,
        Relu | Max | Dropout | Reshape => Casting::AsIs,
    }
}

type Scaled = Result<(Vec<Tensor>, bool)>;

pub fn scaled_gradients<const M: u8>(loss: &Tensor, scale: f64, backward: Backward) -> Scaled {
    if M == 1 {
        return scaled_gradients::<0>(loss, scale, &mut |l| Ok(backward(l).unwrap_or_default()));
    }
    let loss = if M == 2 { &loss.detach() } else { loss };
    let mut grads = Vec::new();
    let mut zero = Tensor::zeros((), DType::F32, loss.device())?;
    for g in backward(&(loss * scale)?)? {
        let own = g.dtype();
        let g = if M == 3 { ((g / scale)? * scale)? } else { g };
        let scale = if M == 4 { 1.0 } else { scale };
        let g = (g.to_dtype(DType::F32)? / scale)?;
        zero = (zero + (&g * 0.0)?.sum_all()?)?;
        if M == 5 {
            zero = (zero + (g.sum_all()? * 0.0)?)?;
        }
        let g = if M == 6 { g.to_dtype(own)? } else { g };
        grads.push(g);
    }
    let found = !zero.to_scalar::<f32>()?.is_finite();
    Ok((grads, found))
}

pub fn update_scale<const M: u8>(state: &mut DynamicScaler, found_inf: bool) {
    let due = !found_inf && state.good + 1 == state.interval;
    match M {
        1 if found_inf => state.scale /= state.backoff * state.backoff,
        2 => return update_scale::<0>(state, !found_inf),
        3 if found_inf => {
            state.scale *= state.backoff;
            return;
        }
        4 if found_inf => state.scale = state.scale.max(1.0 / state.backoff),
        5 if found_inf => state.scale = 65536.0 / state.backoff,
        6 if !found_inf && state.good + 2 == state.interval => state.good += 1,
        7 if due && state.scale * state.growth > f64::from(f32::MAX) => state.scale *= state.growth,
        _ => {}
    }
    if found_inf {
        state.scale *= state.backoff;
        state.good = 0;
        return;
    }
    state.good += 1;
    if state.good == state.interval {
        state.good = 0;
        let grown = state.scale * state.growth;
        if grown <= f64::from(f32::MAX) {
            state.scale = grown;
        }
    }
}

pub fn master_step<const M: u8>(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: Step,
    low: Low,
) -> Result<()> {
    let f32s = grads.iter().map(|g| g.to_dtype(DType::F32));
    let f32s = f32s.collect::<Result<Vec<_>>>()?;
    let round = |weights| master_step::<0>(masters, weights, &[], &mut |_| Ok(()), low);
    match M {
        1 => return step(grads).and_then(|()| round(weights)),
        2 => return round(weights).and_then(|()| step(&f32s)),
        3 => return step(&f32s).and_then(|()| round(weights)).or(Ok(())),
        4 => step(&f32s)?,
        5 => return master_step::<0>(masters, weights, grads, step, &|t| t.to_dtype(weights[0].dtype())),
        6 => return master_step::<0>(masters, &weights[..1], grads, step, low),
        _ => {}
    }
    let wide = grads.iter().map(|g| g.to_dtype(DType::F32));
    step(&wide.collect::<Result<Vec<_>>>()?)?;
    for (master, weight) in masters.iter().zip(weights) {
        weight.set(&low(&master.as_detached_tensor())?)?;
        if M == 7 {
            master.set(&weight.as_detached_tensor().to_dtype(DType::F32)?)?;
        }
    }
    Ok(())
}

pub fn bytes_per_parameter<const M: u8>(format: Format, moments: u32) -> BytesPerParameter {
    let stored = match format.bits() {
        17.. => 4,
        9..=16 => 2,
        _ => 1,
    };
    let stored = match (M, format.bits()) {
        (1, bits) => bits.div_ceil(8),
        (2, 19) => 1,
        (3, ..=8) => 2,
        _ => stored,
    };
    if M > 3 {
        let mut bytes = bytes_per_parameter::<0>(format, moments);
        match M {
            4 => bytes.master = 4,
            5 => bytes.master = 0,
            _ => bytes.optimizer = stored * moments,
        }
        return bytes;
    }
    BytesPerParameter {
        weight: stored,
        gradient: stored,
        master: if stored < 4 { 4 } else { 0 },
        optimizer: 4 * moments,
    }
}

pub fn scale_for<const M: u8>(amax: f32, format: Format, margin: u32) -> f32 {
    match M {
        1 if amax == 0.0 => return 2f32.powi(127),
        2 if amax == 0.0 || !amax.is_finite() => return 2f32.powi(-(margin as i32)),
        _ => {}
    }
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    let ratio = format.max / f64::from(amax);
    let e = (format.max / f64::from(amax)).log2().floor() as i32;
    let e = match M {
        3 => -e,
        4 => ratio.log2() as i32,
        5 => return (ratio * 2f64.powi(-(margin as i32))) as f32,
        6 => e + 2 * margin as i32,
        7 => return 2f64.powi(e.clamp(-126, 127) - margin as i32) as f32,
        8 => return 2f64.powi(e - margin as i32) as f32,
        _ => e,
    };
    let e = e - margin as i32;
    2f32.powi(e.clamp(-126, 127))
}

pub fn tensor_cores<const M: u8>(product: Product, format: Format) -> TensorCores {
    let bytes = match format.bits() {
        17.. => 4,
        9..=16 => 2,
        _ => 1,
    };
    let bytes = match (M, format.bits()) {
        (1, _) | (2, 19) => 2,
        _ => bytes,
    };
    let whole = |side: usize| side.next_multiple_of(16 / bytes);
    let whole = |side: usize| match M {
        3 => side / (16 / bytes) * (16 / bytes),
        4 => whole(side + 1),
        _ => whole(side),
    };
    let padded = Product {
        m: whole(product.m),
        n: whole(product.n),
        k: whole(product.k),
    };
    let worth = product.m.min(product.n).min(product.k) >= 128;
    let worth = match M {
        5 => product.m.max(product.n).max(product.k) >= 128,
        6 => product.m.min(product.n).min(product.k) > 128,
        7 => padded.m.min(padded.n).min(padded.k) >= 128,
        _ => worth,
    };
    let format = if M == 8 { BF16 } else { format };
    TensorCores {
        served: format.bits() < 32,
        padded,
        worth,
    }
}
