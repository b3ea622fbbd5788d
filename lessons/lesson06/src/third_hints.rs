//! The third hints of lesson 06, completed: nothing but what they say, and what they leave to the reader.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{
    Backward, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Overflow, Product, TensorCores,
};

pub fn round_to(x: f32, format: Format) -> f32 {
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if x.is_infinite() {
        return match format.overflow {
            Overflow::Infinity => x,
            Overflow::Nan => f32::NAN,
            Overflow::Saturate => (format.max as f32).copysign(x),
        };
    }
    let wide = f64::from(x);
    let exponent = wide.abs().log2().floor() as i32;
    let exponent = exponent.max(format.least_exponent());
    let spacing = 2f64.powi(exponent - format.mantissa as i32);
    let rounded = (wide / spacing).round_ties_even() * spacing;
    if rounded.abs() > format.max {
        return match format.overflow {
            Overflow::Infinity => f32::INFINITY.copysign(x),
            Overflow::Nan => f32::NAN,
            Overflow::Saturate => (format.max as f32).copysign(x),
        };
    }
    rounded as f32
}

pub fn autocast(operator: Operator) -> Casting {
    use Operator::*;
    match operator {
        Matmul | Linear | Convolution => Casting::Low,
        Sum | Mean | Norm | Exp | Log | Power => Casting::Full,
        Softmax | CrossEntropy | MeanSquaredError => Casting::Full,
        BatchNorm | LayerNorm => Casting::Full,
        Add | Concatenate => Casting::Widest,
        Relu | Max | Dropout | Reshape => Casting::AsIs,
    }
}

pub fn scaled_gradients(loss: &Tensor, scale: f64, backward: Backward) -> Result<(Vec<Tensor>, bool)> {
    let mut grads = Vec::new();
    let mut zero = Tensor::zeros((), DType::F32, loss.device())?;
    for g in backward(&(loss * scale)?)? {
        let g = (g.to_dtype(DType::F32)? / scale)?;
        zero = (zero + (&g * 0.0)?.sum_all()?)?;
        grads.push(g);
    }
    let found = !zero.to_scalar::<f32>()?.is_finite();
    Ok((grads, found))
}

pub fn update_scale(state: &mut DynamicScaler, found_inf: bool) {
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

pub fn master_step(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: &mut dyn FnMut(&[Tensor]) -> Result<()>,
    low: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    let wide = grads.iter().map(|g| g.to_dtype(DType::F32));
    step(&wide.collect::<Result<Vec<_>>>()?)?;
    for (master, weight) in masters.iter().zip(weights) {
        weight.set(&low(&master.as_detached_tensor())?)?;
    }
    Ok(())
}

pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    let stored = match format.bits() {
        17.. => 4,
        9..=16 => 2,
        _ => 1,
    };
    BytesPerParameter {
        weight: stored,
        gradient: stored,
        master: if stored < 4 { 4 } else { 0 },
        optimizer: 4 * moments,
    }
}

pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    let e = (format.max / f64::from(amax)).log2().floor() as i32;
    let e = e - margin as i32;
    2f32.powi(e.clamp(-126, 127))
}

pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    let bytes = match format.bits() {
        17.. => 4,
        9..=16 => 2,
        _ => 1,
    };
    let whole = |side: usize| side.next_multiple_of(16 / bytes);
    let padded = Product {
        m: whole(product.m),
        n: whole(product.n),
        k: whole(product.k),
    };
    let worth = product.m.min(product.n).min(product.k) >= 128;
    TensorCores {
        served: format.bits() < 32,
        padded,
        worth,
    }
}
