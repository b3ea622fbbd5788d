//! Right answers that are not written as canopy's.

use candle_core::{DType, Result, Tensor};
use canopy::precision::{BytesPerParameter, Casting, FP32, Operator, TF32};
use grader::{Right, right};

use crate::{Lesson06, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson06>] = &[
    right!("6.1", "the exponent by a logarithm", round_to: |x, f| rounded(x, f, ROUND)),
    right!("6.1", "the exponent by doubling, the tie by hand", round_to: |x, f| {
        if x.is_nan() || x == 0.0 { return x; }
        if x.is_infinite() { return overflow(x, f); }
        let size = f64::from(x).abs();
        let mut e = f.least_exponent();
        while 2f64.powi(e + 1) <= size { e += 1; }
        let spacing = 2f64.powi(e - f.mantissa as i32);
        let (low, rest) = ((size / spacing).floor(), (size / spacing).fract());
        let up = rest > 0.5 || (rest == 0.5 && low % 2.0 == 1.0);
        let size = (low + if up { 1.0 } else { 0.0 }) * spacing;
        if size > f.max { overflow(x, f) } else { (size as f32).copysign(x) }
    }),
    right!("6.2", "by ifs, the rest last", autocast: |o| {
        use Operator::*;
        if matches!(o, Relu | Max | Dropout | Reshape) { Casting::AsIs }
        else if o == Add || o == Concatenate { Casting::Widest }
        else if matches!(o, Linear | Matmul | Convolution) { Casting::Low }
        else { Casting::Full }
    }),
    right!("6.3", "every number looked at", scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, not_finite)),
    right!("6.3", "times 0 and summed, the reciprocal multiplied", scaled_gradients: |loss, scale, backward| {
        let mut found = false;
        let mut grads = Vec::new();
        for g in backward(&loss.affine(scale, 0.0)?)? {
            let g = (g.to_dtype(DType::F32)? * scale.recip())?;
            let sum: Tensor = (&g * 0.0)?.sum_all()?;
            found |= sum.to_scalar::<f32>()?.is_nan();
            grads.push(g);
        }
        Ok((grads, found))
    }),
    right!("6.4", "one branch after the other", update_scale: |s, inf| followed(s, inf, FOLLOW)),
    right!("6.5", "gradients first, then an index", master_step: |m, w, g, step, low| {
        stepped((m, w, g), step, low, || Ok(()), || Ok(()))
    }),
    right!("6.5", "all weights made before one is set", master_step: |masters, weights, grads, step, low| {
        step(&wide(grads)?)?;
        let new = masters.iter().map(|m| low(m.as_tensor())).collect::<Result<Vec<_>>>()?;
        weights.iter().zip(&new).try_for_each(|(w, n)| w.set(&n.detach()))
    }),
    right!("6.6", "by name", bytes_per_parameter: |f, moments| {
        let whole = f.name == FP32.name || f.name == TF32.name;
        let stored = if whole { 4 } else { f.bits() / 8 };
        BytesPerParameter { weight: stored, gradient: stored, master: if whole { 0 } else { 4 }, optimizer: moments * 4 }
    }),
    right!("6.7", "by halving and doubling", scale_for: |amax, f, margin| {
        if amax == 0.0 || !amax.is_finite() { return 1.0; }
        let (mut e, amax) = (0, f64::from(amax));
        while amax * 2f64.powi(e) > f.max { e -= 1; }
        while amax * 2f64.powi(e + 1) <= f.max { e += 1; }
        2f64.powi((e - margin as i32).clamp(-126, 127)) as f32
    }),
    right!("6.8", "rounded up by a division", tensor_cores: |p, f| cores(p, f, up, large)),
];
