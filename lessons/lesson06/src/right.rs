//! Right answers that are not written as canopy's.

use candle_core::{DType, Result};
use canopy::precision::{BytesPerParameter, Casting, FP32, Operator, Product, TF32, TensorCores};
use grader::{Right, known};

use crate::{Lesson06, REFERENCE};

pub const RIGHT: &[Right<Lesson06>] = &[
    known!("6.1", "the exponent by doubling, the tie by hand", round_to: |x, f| {
        let over = (REFERENCE.round_to)(f32::INFINITY.copysign(x), f);
        if x.is_nan() || x == 0.0 { return x; }
        if x.is_infinite() { return over; }
        let size = f64::from(x).abs();
        let mut e = f.least_exponent();
        while 2f64.powi(e + 1) <= size { e += 1; }
        let spacing = 2f64.powi(e - f.mantissa as i32);
        let (low, rest) = ((size / spacing).floor(), (size / spacing).fract());
        let up = rest > 0.5 || (rest == 0.5 && low % 2.0 == 1.0);
        let size = (low + if up { 1.0 } else { 0.0 }) * spacing;
        if size > f.max { over } else { (size as f32).copysign(x) }
    }),
    known!("6.2", "by ifs, the rest last", autocast: |o| {
        use Operator::*;
        if matches!(o, Relu | Max | Dropout | Reshape) { Casting::AsIs }
        else if o == Add || o == Concatenate { Casting::Widest }
        else if matches!(o, Linear | Matmul | Convolution) { Casting::Low }
        else { Casting::Full }
    }),
    known!("6.3", "the reciprocal multiplied, one wait for each gradient", scaled_gradients: |loss, scale, backward| {
        let grads = backward(&loss.affine(scale, 0.0)?)?;
        let grads = grads.iter().map(|g| g.to_dtype(DType::F32)? * scale.recip()).collect::<Result<Vec<_>>>()?;
        let zeros = grads.iter().map(|g| (g * 0.0)?.sum_all()?.to_scalar::<f32>()).collect::<Result<Vec<_>>>()?;
        Ok((grads, zeros.iter().any(|zero| zero.is_nan())))
    }),
    known!("6.3", "found before the division, as in PyTorch", scaled_gradients: |loss, scale, backward| {
        let grads = backward(&(loss * scale)?)?;
        let wide = grads.iter().map(|g| g.to_dtype(DType::F32)).collect::<Result<Vec<_>>>()?;
        let numbers = wide.iter().map(|g| g.flatten_all()?.to_vec1::<f32>()).collect::<Result<Vec<_>>>()?;
        let found = numbers.iter().flatten().any(|x| !x.is_finite());
        Ok((wide.iter().map(|g| g / scale).collect::<Result<_>>()?, found))
    }),
    known!("6.4", "one factor for all cases", update_scale: |s, overflow| {
        s.good = if overflow { 0 } else { s.good + 1 };
        let factor = if overflow { s.backoff } else if s.good == s.interval { s.growth } else { 1.0 };
        if s.scale * factor <= f64::from(f32::MAX) { s.scale *= factor; }
        s.good %= s.interval;
    }),
    known!("6.4", "the scale in f32, as in PyTorch", update_scale: |s, overflow| {
        (REFERENCE.update_scale)(s, overflow);
        s.scale = f64::from(s.scale as f32);
    }),
    known!("6.5", "all weights made before one is set", master_step: |masters, weights, grads, step, low| {
        step(&grads.iter().map(|g| g.to_dtype(DType::F32)).collect::<Result<Vec<_>>>()?)?;
        let new = masters.iter().map(|m| low(m.as_tensor())).collect::<Result<Vec<_>>>()?;
        weights.iter().zip(&new).try_for_each(|(w, n)| w.set(&n.detach()))
    }),
    known!("6.6", "by name", bytes_per_parameter: |f, moments| {
        let whole = f.name == FP32.name || f.name == TF32.name;
        let (stored, master) = if whole { (4, 0) } else { (f.bits() / 8, 4) };
        BytesPerParameter { weight: stored, gradient: stored, master, optimizer: moments * 4 }
    }),
    known!("6.7", "by halving and doubling", scale_for: |amax, f, margin| {
        if amax == 0.0 || !amax.is_finite() { return 1.0; }
        let (mut e, amax) = (0, f64::from(amax));
        while amax * 2f64.powi(e) > f.max { e -= 1; }
        while amax * 2f64.powi(e + 1) <= f.max { e += 1; }
        2f64.powi((e - margin as i32).clamp(-126, 127)) as f32
    }),
    known!("6.8", "rounded up by a division", tensor_cores: |p, f| {
        let piece = match f.bits() { 0..=8 => 16, 9..=16 => 8, _ => 4 };
        let [m, n, k] = [p.m, p.n, p.k].map(|side: usize| side.div_ceil(piece) * piece);
        let worth = [p.m, p.n, p.k].iter().all(|&side| side >= 128);
        TensorCores { served: f.mantissa < 23, padded: Product { m, n, k }, worth }
    }),
];
