//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{DType, Result, Tensor};
use canopy::precision::{BytesPerParameter, Casting, Operator, Product, TensorCores};
use grader::{Mistake, wrong};

use crate::{Lesson06, REFERENCE, answer_helpers::*};

/// One casting for one operator, the others as they should be.
fn cast(operator: Operator, which: Operator, to: Casting) -> Casting {
    if operator == which {
        to
    } else {
        (REFERENCE.autocast)(operator)
    }
}

/// 2 to the power of what `e` makes of max/amax, for amax of an ordinary size.
fn power(amax: f32, max: f64, e: impl Fn(f64) -> f64) -> f32 {
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    2f64.powf(e(max / f64::from(amax)).clamp(-126.0, 127.0)) as f32
}

/// The table: in 6.2, each operator with each casting that is not its own, under one cause.
macro_rules! mistakes {
    (
        { $($check:ident, $cause:literal, $operator:ident: $($to:ident)+;)+ }
        $($row:expr),+ $(,)?
    ) => {
        pub const MISTAKES: &[Mistake<Lesson06>] = &[
            $($(wrong!("6.2", $check, $cause, autocast: |o| cast(o, Operator::$operator, Casting::$to)),)+)+
            $($row),+
        ];
    };
}

mistakes! {
    {
    casts_products_to_low_precision, "A matrix product is computed by tensor cores, in low precision.", Matmul: Full AsIs Widest;
    casts_products_to_low_precision, "A linear layer is a product, computed by tensor cores in low precision.", Linear: Full AsIs Widest;
    casts_products_to_low_precision, "A convolution is a product as well, computed by tensor cores in low precision.", Convolution: Full AsIs Widest;
    keeps_long_sums_in_fp32, "A long sum loses its small terms in 16 bits: `Sum` needs fp32.", Sum: Low AsIs Widest;
    keeps_long_sums_in_fp32, "A mean starts with a long sum, which overflows fp16 before the division: it needs fp32.", Mean: Low AsIs Widest;
    keeps_long_sums_in_fp32, "A norm is a long sum of squares, and the square of 300 overflows fp16: it needs fp32.", Norm: Low AsIs Widest;
    keeps_losses_and_norms_in_fp32, "Softmax sums exponentials: it needs fp32.", Softmax: Low AsIs Widest;
    keeps_losses_and_norms_in_fp32, "Cross-entropy sums logarithms: it needs fp32, as every loss does.", CrossEntropy: Low AsIs Widest;
    keeps_losses_and_norms_in_fp32, "The mean squared error is a long sum of squares: it needs fp32, as every loss does.", MeanSquaredError: Low AsIs Widest;
    keeps_losses_and_norms_in_fp32, "Batch norm computes mean and variance of many numbers: it needs fp32.", BatchNorm: Low AsIs Widest;
    keeps_losses_and_norms_in_fp32, "Layer norm computes mean and variance of many numbers: it needs fp32.", LayerNorm: Low AsIs Widest;
    keeps_growing_functions_in_fp32, "exp(12) already overflows fp16: `Exp` needs fp32.", Exp: Low AsIs Widest;
    keeps_growing_functions_in_fp32, "A logarithm turns tiny numbers into ordinary ones, so it must read them in fp32.", Log: Low AsIs Widest;
    keeps_growing_functions_in_fp32, "The square of 300 overflows fp16: `Power` needs fp32.", Power: Low AsIs Widest;
    promotes_to_the_widest_dtype, "`Add` has several inputs, whose dtypes may differ: none may lose bits, and none needs more than the widest of them.", Add: Low Full AsIs;
    promotes_to_the_widest_dtype, "`Concatenate` has several inputs, whose dtypes may differ: none may lose bits, and none needs more than the widest of them.", Concatenate: Low Full AsIs;
    leaves_other_operators_unchanged, "A ReLU returns its input or 0, which is safe in any dtype: do not cast it.", Relu: Low Full Widest;
    leaves_other_operators_unchanged, "A maximum returns one of its inputs and sums nothing: do not cast it.", Max: Low Full Widest;
    leaves_other_operators_unchanged, "Dropout returns its inputs, scaled, or 0, which is safe in any dtype: do not cast it.", Dropout: Low Full Widest;
    leaves_other_operators_unchanged, "A reshape computes nothing, and has one input: do not cast it.", Reshape: Low Full Widest;
    }
    wrong!("6.1", rounds_to_the_nearest, "Bits are truncated: that rounds toward 0, not to the nearest.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::trunc, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "`floor` rounds down, toward minus infinity, not to the nearest.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::floor, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "The spacing at 1 is used for every x; numbers are 2^(e − m) apart.",
        round_to: |x, f| rounded(x, f, Round { exponent: |_, _| 0, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "The exponent is computed in f32: just below a power of two the logarithm is rounded up, and the spacing is twice as large. Use f64.",
    round_to: |x, f| {
        let whole = f64::from(x.abs().log2().floor()) > f64::from(x).abs().log2().floor();
        let exponent = if whole { |own: i32, least: i32| (own + 1).max(least) } else { ROUND.exponent };
        rounded(x, f, Round { exponent, ..ROUND })
    }),
    wrong!("6.1", rounds_ties_to_even, "`round` rounds ties away from 0; round them to even.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::round, ..ROUND })),
    wrong!("6.1", rounds_ties_to_even, "Adding one half and truncating rounds ties up; round them to even.",
        round_to: |x, f| rounded(x, f, Round { whole: |q| (q + 0.5).floor(), ..ROUND })),
    wrong!("6.1", rounds_up_to_the_next_power_of_two, "A number that rounds up to the next power of two stays below it.",
    round_to: |x, f| {
        let got = rounded(x, f, ROUND);
        let power = 2f32.powi(x.abs().log2().floor() as i32 + 1);
        if got.abs() == power && x.abs() < power && x.abs() >= 2f32.powi(f.least_exponent()) { got * (1.0 - f.epsilon() as f32 / 2.0) } else { got }
    }),
    wrong!("6.1", keeps_subnormal_numbers, "Values below the least normal number become 0; the subnormal numbers are there.",
    round_to: |x, f| {
        if f64::from(x).abs() < 2f64.powi(f.least_exponent()) { 0f32.copysign(x) } else { (REFERENCE.round_to)(x, f) }
    }),
    wrong!("6.1", keeps_subnormal_numbers, "The spacing shrinks below the least normal number; it must stay the same there.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, _| own, ..ROUND })),
    wrong!("6.1", keeps_subnormal_numbers, "The least exponent is off by one: below it, the spacing is the one just above it.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, least| own.max(least + 1), ..ROUND })),
    wrong!("6.1", overflows_as_its_format_says, "A number that is too large becomes the greatest number; `format.overflow` defines the result.",
        round_to: |x, f| rounded(x, f, Round { then: |x, f| (f.max as f32).copysign(x), ..ROUND })),
    wrong!("6.1", overflows_as_its_format_says, "A number that is too large becomes an infinity in every format; `format.overflow` defines the result.",
        round_to: |x, f| rounded(x, f, Round { then: |x, _| f32::INFINITY.copysign(x), ..ROUND })),
    wrong!("6.1", overflows_as_its_format_says, "The overflow loses the sign of x.",
        round_to: |x, f| rounded(x, f, Round { then: |x, f| overflow(x.abs(), f), ..ROUND })),
    wrong!("6.1", overflows_as_its_format_says, "Nothing overflows: compare with `format.max`.",
        round_to: |x, f| rounded(x, f, Round { over: |_, _, _| false, ..ROUND })),
    wrong!("6.1", overflows_after_rounding, "x itself is compared with `format.max`; compare the rounded value.",
        round_to: |x, f| rounded(x, f, Round { over: |before, _, max| before > max, ..ROUND })),
    wrong!("6.1", preserves_nan_and_sign, "NaN stays NaN.",
        round_to: |x, f| rounded(x, f, Round { nan: 0.0, ..ROUND })),
    wrong!("6.1", overflows_from_infinity, "An infinity divided by its spacing is NaN; handle infinities first.",
        round_to: |x, f| if x.is_infinite() { f32::NAN } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.1", preserves_nan_and_sign, "A negative number that rounds to 0 loses its sign; it should become −0.",
        round_to: |x, f| rounded(x, f, Round { signed: false, ..ROUND })),
    wrong!("6.1", overflows_from_infinity, "An infinity overflows as well: in a format that saturates, it becomes the greatest number.",
        round_to: |x, f| if x.is_infinite() { x } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.1", rounds_to_the_nearest, "The spacing is twice as large: take `floor` of the logarithm, not `ceil`, and `mantissa` without the leading bit.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, least| (own + 1).max(least + 1), ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "The exponent is `ceil` of the logarithm, so that the spacing is twice as large; take `floor`.",
    round_to: |x, f| {
        let power = x.is_finite() && x != 0.0 && f64::from(x).abs().log2().fract() == 0.0;
        let exponent = if power { ROUND.exponent } else { |own: i32, least: i32| (own + 1).max(least) };
        rounded(x, f, Round { exponent, ..ROUND })
    }),
    wrong!("6.1", rounds_to_the_nearest, "The spacing is half as large as it should be: it is 2^(e − m), and `mantissa` does not count the sign or the leading bit.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, least| own.max(least) - 1, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "`ceil` rounds up, not to the nearest.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::ceil, ..ROUND })),
    wrong!("6.1", rounds_ties_to_even, "Ties are rounded toward 0; round them to even.",
        round_to: |x, f| rounded(x, f, Round { whole: |q| (q.abs() - 0.5).ceil().copysign(q), ..ROUND })),
    wrong!("6.1", keeps_subnormal_numbers, "The least exponent is one too low, so that the spacing of the subnormal numbers is half of what it should be; use `format.least_exponent()`.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, least| own.max(least - 1), ..ROUND })),
    wrong!("6.1", keeps_subnormal_numbers, "What is below the smallest subnormal number becomes 0, although it may be nearer to that number.",
    round_to: |x, f| {
        if f64::from(x).abs() < f.least() { 0f32.copysign(x) } else { rounded(x, f, ROUND) }
    }),
    wrong!("6.1", keeps_subnormal_numbers, "What is below the smallest subnormal number becomes that number; half of it and less rounds to 0.",
    round_to: |x, f| {
        if x != 0.0 && f64::from(x).abs() < f.least() { (f.least() as f32).copysign(x) } else { rounded(x, f, ROUND) }
    }),
    wrong!("6.1", overflows_as_its_format_says, "What saturates loses the sign of x.",
    round_to: |x, f| rounded(x, f, Round { then: |x, f| {
        if f.overflow == canopy::precision::Overflow::Saturate { f.max as f32 } else { overflow(x, f) }
    }, ..ROUND })),
    wrong!("6.1", overflows_as_its_format_says, "The largest number is not 2^bias · (2 − 2^−m) in E4M3, which also uses the highest exponent; compare with `format.max`.",
    round_to: |x, f| {
        let max = (2.0 - f.epsilon()) * 2f64.powi((1 << (f.exponent - 1)) - 1);
        rounded(x, canopy::precision::Format { max, ..f }, ROUND)
    }),
    wrong!("6.1", overflows_as_its_format_says, "A number that is too large becomes NaN in every format; `format.overflow` defines the result.",
        round_to: |x, f| rounded(x, f, Round { then: |_, _| f32::NAN, ..ROUND })),
    wrong!("6.1", overflows_as_its_format_says, "The greatest number itself overflows: only what is above `format.max` does.",
        round_to: |x, f| rounded(x, f, Round { over: |_, after, max| after >= max, ..ROUND })),
    wrong!("6.1", preserves_nan_and_sign, "−0 loses its sign.",
        round_to: |x, f| if x == 0.0 { 0.0 } else { rounded(x, f, ROUND) }),
    wrong!("6.1", preserves_nan_and_sign, "NaN becomes a number where the format saturates: `min`, `max` and `clamp` drop it. Handle NaN first.",
    round_to: |x, f| {
        let saturates = f.overflow == canopy::precision::Overflow::Saturate;
        if saturates && x.is_nan() { f.max as f32 } else { rounded(x, f, ROUND) }
    }),
    wrong!("6.1", preserves_nan_and_sign, "NaN overflows: it becomes what the format has instead. Handle NaN first.",
        round_to: |x, f| if x.is_nan() { overflow(x, f) } else { rounded(x, f, ROUND) }),
    wrong!("6.1", overflows_from_infinity, "An infinity stays an infinity in E4M3, which has none: it overflows as well.",
    round_to: |x, f| {
        let none = f.overflow == canopy::precision::Overflow::Nan;
        if x.is_infinite() && none { x } else { rounded(x, f, ROUND) }
    }),
    wrong!("6.1", overflows_from_infinity, "An infinity becomes the greatest number in every format; `format.overflow` defines the result.",
        round_to: |x, f| if x.is_infinite() { (f.max as f32).copysign(x) } else { rounded(x, f, ROUND) }),
    wrong!("6.1", is_exact_for_every_exponent, "Computed in f32, 2^(e − m) becomes 0 for the smallest numbers of bf16, tf32 and fp32. Use f64.",
        round_to: |x, f| in_f32(x, f, |own, least| own.max(least))),
    wrong!("6.2", keeps_long_sums_in_fp32, "Every operator runs in low precision: only the products may.", autocast: |_| Casting::Low),
    wrong!("6.2", casts_products_to_low_precision, "Every operator runs in fp32: then nothing is gained. The products run in low precision.", autocast: |_| Casting::Full),
    wrong!("6.2", casts_products_to_low_precision, "`Low` and `Full` are exchanged: products run in low precision, long sums in fp32.", autocast: |o| match (REFERENCE.autocast)(o) {
        Casting::Low => Casting::Full,
        Casting::Full => Casting::Low,
        other => other,
    }),
    wrong!("6.2", promotes_to_the_widest_dtype, "`Widest` and `AsIs` are exchanged: `Widest` is for operators with several inputs.", autocast: |o| match (REFERENCE.autocast)(o) {
        Casting::Widest => Casting::AsIs,
        Casting::AsIs => Casting::Widest,
        other => other,
    }),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "`walk` gets the loss itself; pass it the loss times the scale.",
        scaled_gradients: |l, s, w| walked(l, (1.0, 1.0), w, |g| s.is_nan() || not_finite(g))),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "The loss is divided by the scale; multiply it.",
        scaled_gradients: |l, s, w| walked(l, (1.0 / s, 1.0 / s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are those of the scaled loss; divide them by the scale.",
        scaled_gradients: |l, s, w| walked(l, (s, 1.0), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are multiplied by the scale again; divide them.",
        scaled_gradients: |l, s, w| walked(l, (s, 1.0 / s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "Only the first gradient is divided.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = walked(l, (s, 1.0), w, not_finite)?;
        if let Some(first) = grads.first_mut() { *first = (&*first / s)?; }
        Ok((grads, found))
    }),
    wrong!("6.3", converts_to_fp32_before_dividing, "The gradients are divided in their own dtype: in fp16 the quotient is 0. Convert them to fp32 first.",
    scaled_gradients: |l, s, walk| {
        walked(l, (s, 1.0), &mut |l| walk(l)?.iter().map(|g| g / s).collect(), not_finite)
    }),
    wrong!("6.3", converts_to_fp32_before_dividing, "The gradients are returned in fp16; return fp32.",
    scaled_gradients: |l, s, walk| {
        let mut types = Vec::new();
        let (grads, found) = walked(l, (s, s), &mut |l| {
            let grads = walk(l)?;
            types = grads.iter().map(Tensor::dtype).collect();
            Ok(grads)
        }, not_finite)?;
        let back = grads.iter().zip(&types).map(|(g, t)| g.to_dtype(*t));
        Ok((back.collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", finds_inf_and_nan, "Infinities are found, but NaN is not: no comparison with NaN is true. `is_finite` finds both.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_infinite()))),
    wrong!("6.3", finds_inf_and_nan, "NaN is found, but infinities are not.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan()))),
    wrong!("6.3", finds_inf_and_nan, "Only the last gradient decides; any of them is enough.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| not_finite(&g[g.len().saturating_sub(1)..]))),
    wrong!("6.3", finds_inf_and_nan, "Only the first gradient is checked.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| not_finite(&g[..1.min(g.len())]))),
    wrong!("6.3", returns_gradients_that_overflowed, "Gradients that overflowed are missing in the result; return all of them.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        Ok((if found { Vec::new() } else { grads }, found))
    }),
    wrong!("6.3", accepts_large_finite_gradients, "The sum is checked, which can overflow although no gradient does. Multiply by 0 first, or check each number.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().any(|g| !g.iter().sum::<f32>().is_finite()))),
    wrong!("6.3", accepts_large_finite_gradients, "Squares are summed, which can overflow although no gradient does.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| !(v * v).is_finite()))),
    wrong!("6.3", runs_backward_once, "`walk` is called twice: that costs a second backward pass.",
    scaled_gradients: |l, s, walk| {
        walk(&(l * s)?)?;
        walked(l, (s, s), walk, not_finite)
    }),
    wrong!("6.3", returns_errors_of_the_backward_pass, "An error of `walk` is ignored as if there were no gradients.",
    scaled_gradients: |l, s, walk| {
        walked(l, (s, s), &mut |l| Ok(walk(l).unwrap_or_default()), not_finite)
    }),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "The loss passed to `walk` must keep its shape [], without any axis.",
        scaled_gradients: |l, s, w| walked(&l.reshape(1)?, (s, s), w, not_finite)),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "`detach` and a new tensor from a number cut the graph, so that there is nothing to walk back. Multiply `loss` itself.",
        scaled_gradients: |l, s, w| walked(&l.detach(), (s, s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are in the opposite order; return them in the order of `walk`.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = walked(l, (s, s), w, not_finite)?;
        grads.reverse();
        Ok((grads, found))
    }),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are f64; return f32.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, 1.0), w, not_finite)?;
        Ok((grads.iter().map(|g| g.to_dtype(DType::F64)? / s).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are flattened; return each in its shape.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        Ok((grads.iter().map(Tensor::flatten_all).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_unscaled_gradients, "`found_inf` is inverted: it must be true if a gradient is infinite or NaN.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| !not_finite(g))),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are divided by the scale twice.",
        scaled_gradients: |l, s, w| walked(l, (s, s * s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "One gradient is returned; return one for each parameter.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = walked(l, (s, s), w, not_finite)?;
        grads.truncate(1);
        Ok((grads, found))
    }),
    wrong!("6.3", converts_to_fp32_before_dividing, "With a scale of 1, the gradients are not converted: return fp32 for every scale.",
    scaled_gradients: |l, s, walk| {
        if s == 1.0 { Ok((walk(l)?, false)) } else { walked(l, (s, s), walk, not_finite) }
    }),
    wrong!("6.3", finds_inf_and_nan, "`found_inf` is always false.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |_| false)),
    wrong!("6.3", finds_inf_and_nan, "-inf is not found: a comparison with `f32::INFINITY` is only true for +inf. `is_finite` finds both.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan() || *v == f32::INFINITY))),
    wrong!("6.3", finds_inf_and_nan, "All gradients must be infinite or NaN here; one is enough.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().all(|g| not_finite(std::slice::from_ref(g))))),
    wrong!("6.3", finds_inf_and_nan, "Only the first number of each gradient is checked.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().any(|g| g.first().is_some_and(|v| !v.is_finite())))),
    wrong!("6.3", finds_inf_and_nan, "The sum of all numbers is infinite only if no -inf is among them: inf − inf is NaN. Multiply by 0 and look for NaN.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().sum::<f32>().is_infinite())),
    wrong!("6.3", returns_gradients_that_overflowed, "The gradients from the first that is not finite are missing; return all of them.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        let finite = |g: &&Tensor| g.flatten_all().and_then(|g| g.to_vec1()).is_ok_and(|v| !not_finite(&[v]));
        Ok((grads.iter().take_while(finite).cloned().collect(), found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "The gradients after the first that is not finite are missing; return all of them.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = walked(l, (s, s), w, not_finite)?;
        let bad = |g: &Tensor| g.flatten_all().and_then(|g| g.to_vec1()).is_ok_and(|v| not_finite(&[v]));
        if let Some(at) = grads.iter().position(bad) { grads.truncate(at + 1); }
        Ok((grads, found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "The gradients are replaced by 0 after an overflow; return them as they are.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        if !found { return Ok((grads, found)); }
        Ok((grads.iter().map(Tensor::zeros_like).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "Numbers that are not finite are replaced by 0; return them as they are.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        let fine = |g: &Tensor| -> Result<Tensor> {
            let list: Vec<f32> = g.flatten_all()?.to_vec1()?;
            let list: Vec<f32> = list.into_iter().map(|v| if v.is_finite() { v } else { 0.0 }).collect();
            Tensor::from_vec(list, g.dims(), g.device())
        };
        Ok((grads.iter().map(fine).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", accepts_large_finite_gradients, "What is beyond 65,504 counts as an overflow; the gradients are fp32 here, and only infinite and NaN ones count.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan() || v.abs() > 65504.0))),
    wrong!("6.3", accepts_large_finite_gradients, "The sum of all gradients is checked, which can overflow although no gradient does. Multiply by 0 first, or check each number.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| !g.iter().flatten().sum::<f32>().is_finite())),
    wrong!("6.3", looks_at_the_returned_gradients, "The gradients are checked before they are divided; a scale below 1 makes large ones infinite.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, 1.0), w, not_finite)?;
        Ok((grads.iter().map(|g| g / s).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", accepts_no_gradients, "Tensors of an empty list cannot be stacked, concatenated or reduced: return no gradients and false.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        let flat = grads.iter().map(Tensor::flatten_all).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&flat, 0)?;
        Ok((grads, found))
    }),
    wrong!("6.3", accepts_no_gradients, "An empty list is taken for an error; return no gradients and false.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        let none = grads.is_empty();
        Ok((grads, found || none))
    }),
    wrong!("6.3", runs_backward_once, "`walk` is called again after an overflow; call it once.",
    scaled_gradients: |l, s, w| {
        let first = walked(l, (s, s), w, not_finite)?;
        if first.1 { walked(l, (s, s), w, not_finite) } else { Ok(first) }
    }),
    wrong!("6.3", returns_errors_of_the_backward_pass, "An error of `walk` becomes a panic; return it with `?`.",
    scaled_gradients: |l, s, walk| {
        let walk: canopy::precision::Walk = walk;
        walked(l, (s, s), &mut |l| Ok(walk(l).unwrap()), not_finite)
    }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow leaves the scale as it is; multiply it by `backoff`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is divided by `backoff`; multiply by it.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0 / s.backoff), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is always halved; multiply by `backoff`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 0.5), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "Overflow and good step are swapped.",
        update_scale: |s, inf| followed(s, !inf, FOLLOW)),
    wrong!("6.4", grows_after_the_interval, "The scale grows one step late: it should grow when `good` reaches `interval`.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, interval| good > interval, ..FOLLOW })),
    wrong!("6.4", grows_after_the_interval, "The scale grows one step early: count the step first.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, interval| good + 1 >= interval, ..FOLLOW })),
    wrong!("6.4", grows_after_the_interval, "The scale is always doubled; multiply by `growth`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (2.0, s.backoff), ..FOLLOW })),
    wrong!("6.4", grows_after_the_interval, "The interval is always 2,000; use `interval`.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, _| good >= 2000, ..FOLLOW })),
    wrong!("6.4", resets_the_count_after_an_overflow, "Good steps before an overflow still count; the steps must be consecutive.",
        update_scale: |s, inf| followed(s, inf, Follow { forgets: false, ..FOLLOW })),
    wrong!("6.4", resets_the_count_after_an_overflow, "The step that overflowed is counted as a good one.",
        update_scale: |s, inf| followed(s, inf, Follow { counts_bad: true, ..FOLLOW })),
    wrong!("6.4", resets_the_count_after_growth, "The count does not restart after the scale grew, so that it grows at every further step.",
        update_scale: |s, inf| followed(s, inf, Follow { begins_anew: false, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale grows beyond the range of f32; it should stay unchanged then.",
        update_scale: |s, inf| followed(s, inf, Follow { most: f64::INFINITY, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale stays, but the count of good steps must still restart at 0.",
    update_scale: |s, inf| {
        let (before, due) = (s.scale, !inf && s.good + 1 >= s.interval);
        let good = s.good + 1;
        followed(s, inf, FOLLOW);
        if due && s.scale == before { s.good = good; }
    }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow sets the scale back to 65,536; multiply it by `backoff`.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); if inf { s.scale = 65536.0; } }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow starts from 65,536 again; multiply the current scale by `backoff`.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); if inf { s.scale = 65536.0 * s.backoff; } }),
    wrong!("6.4", backs_off_after_an_overflow, "The backoff is subtracted; multiply by it.",
        update_scale: |s, inf| { let before = s.scale; followed(s, inf, FOLLOW); if inf { s.scale = before - s.backoff; } }),
    wrong!("6.4", grows_after_the_interval, "The growth is added; multiply by it.",
        update_scale: |s, inf| { let before = s.scale; followed(s, inf, FOLLOW); if s.scale > before { s.scale = before + s.growth; } }),
    wrong!("6.4", grows_after_the_interval, "The count restarts at 1; it restarts at 0, because the step that grew the scale belongs to the interval that has ended.",
        update_scale: |s, inf| { let due = !inf && s.good + 1 >= s.interval; followed(s, inf, FOLLOW); if due { s.good = 1; } }),
    wrong!("6.4", grows_after_the_interval, "The scale does not grow beyond 65,536 here; only `f32::MAX` limits it.",
        update_scale: |s, inf| { followed(s, inf, Follow { most: 65536.0, ..FOLLOW }) }),
    wrong!("6.4", grows_after_the_interval, "Nothing changes after a good step: `state` is a reference, so change its fields, not a copy.",
        update_scale: |s, inf| if inf { followed(s, inf, FOLLOW) }),
    wrong!("6.4", grows_after_the_interval, "The scale grows after every good step; count them, and compare with `interval`.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |_, _| true, ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "`state` does not change: it is a reference, so change its fields, not a copy.",
        update_scale: |_, _| {}),
    wrong!("6.4", resets_the_count_after_an_overflow, "An overflow takes one off the count; the count restarts at 0.",
    update_scale: |s, inf| {
        let good = s.good;
        followed(s, inf, FOLLOW);
        if inf { s.good = good.saturating_sub(1); }
    }),
    wrong!("6.4", resets_the_count_after_an_overflow, "An overflow after good steps does not reduce the scale (that is DeepSpeed's rule); each overflow does.",
    update_scale: |s, inf| {
        let (scale, good) = (s.scale, s.good);
        followed(s, inf, FOLLOW);
        if inf && good > 0 { s.scale = scale; }
    }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow right after another one changes nothing here; each overflow reduces the scale.",
    update_scale: |s, inf| {
        let (scale, good) = (s.scale, s.good);
        followed(s, inf, FOLLOW);
        if inf && good == 0 { s.scale = scale; }
    }),
    wrong!("6.4", stays_within_fp32, "2^127 is below `f32::MAX`, so the scale must grow to it: compare the new scale with `f64::from(f32::MAX)`.",
        update_scale: |s, inf| followed(s, inf, Follow { most: 1.7e38, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "`f32::MAX` itself is not above `f32::MAX`: the scale may become equal to it.",
        update_scale: |s, inf| followed(s, inf, Follow { most: f32::MAX as f64 * 0.9999999, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale becomes `f32::MAX` where the new one would be above it; it should not change then.",
        update_scale: |s, inf| { followed(s, inf, Follow { most: f64::INFINITY, ..FOLLOW }); s.scale = s.scale.min(f64::from(f32::MAX)); }),
    wrong!("6.4", has_no_lower_limit, "The scale stops at 1; it may become smaller.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); if inf { s.scale = s.scale.max(1.0); } }),
    wrong!("6.4", has_no_lower_limit, "A scale too small for a normal f32 is refused; only a scale above `f32::MAX` is.",
    update_scale: |s, inf| {
        let before = s.scale;
        followed(s, inf, FOLLOW);
        if inf && s.scale < f64::from(f32::MIN_POSITIVE) { s.scale = before; }
    }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The optimizer gets gradients in bf16; convert them to fp32.",
        master_step: |m, w, g, step, low| { step(g)?; copied(m, w, low) }),
    wrong!("6.5", rounds_masters_into_weights, "The weights are not changed; set each to its rounded master.",
        master_step: |_, _, g, step, _| step(&wide(g)?)),
    wrong!("6.5", rounds_masters_into_weights, "The weights are set before the step, so they are one step behind.",
        master_step: |m, w, g, step, low| { copied(m, w, low)?; step(&wide(g)?) }),
    wrong!("6.5", rounds_masters_into_weights, "Only the first weight is set.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        copied(m, &w[..1.min(w.len())], low)
    }),
    wrong!("6.5", does_not_round_the_masters, "The masters are rounded as well; they must keep all their bits.",
    master_step: |m, w, g, step, low| stepped((m, w, g), step, low, || Ok(()), || {
        m.iter().try_for_each(|m| m.set(&low(m.as_tensor())?.to_dtype(DType::F32)?))
    })),
    wrong!("6.5", accumulates_small_updates, "The step starts from the rounded weights, so that small updates are lost each time. Start from the masters.",
    master_step: |m, w, g, step, low| stepped((m, w, g), step, low, || {
        m.iter().zip(w).try_for_each(|(m, w)| m.set(&w.as_detached_tensor().to_dtype(DType::F32)?))
    }, || Ok(()))),
    wrong!("6.5", calls_the_optimizer_once, "`step` is called twice: the optimizer takes two steps.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        step(&wide(g)?)?;
        copied(m, w, low)
    }),
    wrong!("6.5", calls_the_optimizer_once, "`step` is called for each gradient separately; call it once with all of them.",
    master_step: |m, w, g, step, low| {
        wide(g)?.iter().try_for_each(|g| step(std::slice::from_ref(g)))?;
        copied(m, w, low)
    }),
    wrong!("6.5", leaves_weights_unchanged_on_error, "The weights are set although the step failed: use `?` after it.",
    master_step: |m, w, g, step, low| {
        let done = step(&wide(g)?);
        copied(m, w, low)?;
        done
    }),
    wrong!("6.5", leaves_weights_unchanged_on_error, "The error of the step is ignored.",
    master_step: |m, w, g, step, low| {
        if step(&wide(g)?).is_ok() { copied(m, w, low)?; }
        Ok(())
    }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The optimizer gets gradients in f64; convert them to fp32.",
        master_step: |m, w, g, step, low| {
            let f64s = g.iter().map(|g| g.to_dtype(DType::F64)).collect::<Result<Vec<_>>>()?;
            step(&f64s)?;
            copied(m, w, low)
        }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The gradients are passed in the opposite order; keep the order of the masters.",
        master_step: |m, w, g, step, low| {
            let mut wide = wide(g)?;
            wide.reverse();
            step(&wide)?;
            copied(m, w, low)
        }),
    wrong!("6.5", does_not_round_gradients, "The gradients are rounded by `low` as well; convert them with `to_dtype(DType::F32)` only.",
        master_step: |m, w, g, step, low| {
            let rounded = g.iter().map(|g| low(g)?.to_dtype(DType::F32)).collect::<Result<Vec<_>>>()?;
            step(&rounded)?;
            copied(m, w, low)
        }),
    wrong!("6.5", calls_the_optimizer_once, "`step` is never called.",
        master_step: |m, w, _, _, low| copied(m, w, low)),
    wrong!("6.5", rounds_masters_into_weights, "The last weight is not set.",
        master_step: |m, w, g, step, low| {
            step(&wide(g)?)?;
            copied(m, &w[..w.len().saturating_sub(1)], low)
        }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "`low` rounds the old weights; round the masters, and set the weights to that.",
        master_step: |_, w, g, step, low| {
            step(&wide(g)?)?;
            w.iter().try_for_each(|w| w.set(&low(w.as_tensor())?))
        }),
    wrong!("6.5", rounds_masters_into_weights, "The change of the master is added to the rounded weight; set the weight to the rounded master itself.",
        master_step: |m, w, g, step, low| {
            let before = m.iter().map(|m| m.as_detached_tensor().copy()).collect::<Result<Vec<_>>>()?;
            step(&wide(g)?)?;
            for ((m, w), b) in m.iter().zip(w).zip(&before) {
                let change = (m.as_detached_tensor() - b)?;
                w.set(&low(&(w.as_detached_tensor().to_dtype(DType::F32)? + change)?)?)?;
            }
            Ok(())
        }),
    wrong!("6.5", rounds_by_low, "The master is cast to the weight's dtype, and `low` is not used.",
        master_step: |m, w, g, step, _| {
            step(&wide(g)?)?;
            m.iter().zip(w).try_for_each(|(m, w)| w.set(&m.as_detached_tensor().to_dtype(w.dtype())?.copy()?))
        }),
    wrong!("6.5", rounds_by_low, "The master is cast to the weight's dtype before `low` rounds it: it is rounded twice.",
        master_step: |m, w, g, step, low| {
            step(&wide(g)?)?;
            m.iter().zip(w).try_for_each(|(m, w)| w.set(&low(&m.as_detached_tensor().to_dtype(w.dtype())?)?.to_dtype(w.dtype())?))
        }),
    wrong!("6.5", rounds_every_master, "Weights whose gradient is 0 are not set, but momentum or weight decay may have changed their masters.",
        master_step: |m, w, g, step, low| {
            step(&wide(g)?)?;
            for ((m, w), g) in m.iter().zip(w).zip(wide(g)?) {
                if g.abs()?.sum_all()?.to_scalar::<f32>()? > 0.0 { copied(std::slice::from_ref(m), std::slice::from_ref(w), low)?; }
            }
            Ok(())
        }),
    wrong!("6.5", leaves_weights_unchanged_on_error, "An error of the step becomes a panic; return it with `?`.",
        master_step: |m, w, g, step, low| {
            step(&wide(g)?).unwrap();
            copied(m, w, low)
        }),
    wrong!("6.5", returns_errors_of_low, "An error of `low` is ignored; return it with `?`.",
        master_step: |m, w, g, step, low| {
            step(&wide(g)?)?;
            let _ = copied(m, w, low);
            Ok(())
        }),
    wrong!("6.5", returns_errors_of_low, "An error of `low` becomes a panic; return it with `?`.",
        master_step: |m, w, g, step, low| {
            step(&wide(g)?)?;
            m.iter().zip(w).try_for_each(|(m, w)| w.set(&low(&m.as_detached_tensor()).unwrap()))
        }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weights in 16 bits need 2 bytes.",
        bytes_per_parameter: |f, n| BytesPerParameter { weight: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The gradient is stored in the format of the weights as well.",
        bytes_per_parameter: |f, n| BytesPerParameter { gradient: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "These are bits; 8 bits are one byte.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { weight: 8 * right.weight, gradient: 8 * right.gradient, ..right }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, which are not stored as 3 bytes: it is only used for multiplication, and fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = f.bits().div_ceil(8);
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, neither 32 nor 16, and falls through to 1 byte; fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = match f.bits() { 32 => 4, 16 => 2, _ => 1 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 is stored in 2 bytes, but it is only used for multiplication: fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = if f.mantissa <= 10 && f.bits() > 8 { 2 } else { f.bits().div_ceil(8).min(4) };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "An fp32 weight is its own master and needs no second copy.",
        bytes_per_parameter: |f, n| BytesPerParameter { master: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", has_masters_only_in_low_precision, "The fp32 master of low-precision weights is missing.",
        bytes_per_parameter: |f, n| BytesPerParameter { master: 0, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", has_masters_only_in_low_precision, "A master in the format of the weights is useless; it is fp32, 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.master > 0 { right.weight } else { 0 }, ..right }
    }),
    wrong!("6.6", stores_8_bits_in_1_byte, "8 bits are one byte; here every format below fp32 is treated as 16 bits.",
    bytes_per_parameter: |f, n| {
        let stored = if f.bits() > 16 { 4 } else { 2 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The optimizer's numbers are always fp32: 4 bytes each.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: right.weight * n, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "Adam's 8 bytes are used for every optimizer; `moments` has the number of its values.",
        bytes_per_parameter: |f, n| BytesPerParameter { optimizer: 8, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", has_masters_only_in_low_precision, "Plain SGD has no numbers of its own (`moments` is 0), but low-precision weights still need a master.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if n == 0 { 0 } else { right.master }, ..right }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "tf32 is stored as fp32 and needs no master.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if f == canopy::precision::TF32 { 4 } else { right.master }, ..right }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "Only 16-bit weights have a master here; 8-bit weights need one as well.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.weight == 2 { 4 } else { 0 }, ..right }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "The master of fp8 weights is fp32 as well, 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.weight == 1 { 2 } else { right.master }, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "Plain SGD keeps no numbers: 0 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: 4 * n.max(1), ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "`moments` may be any number: it is 4 bytes each, also for more than 2.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: if n > 2 { 0 } else { 4 * n }, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "`moments` may be any number: it is 4 bytes each, also for more than 2.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: 4 * n.min(2), ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The optimizer keeps fp32 numbers: 4 bytes each, not 1.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: n, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The optimizer keeps fp32 numbers of 4 bytes, not of 8.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: 8 * n, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The master is counted with the optimizer as well; it has its own field.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: right.optimizer + right.master, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The master is added to `weight`; it has its own field.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { weight: right.weight + right.master, master: 0, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weight and gradient need 2 bytes in 16 bits, also in a format that saturates: compare `format.bits()`, not the format with a constant.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.overflow != canopy::precision::Overflow::Saturate { return right; }
        BytesPerParameter { weight: 4, gradient: 4, master: 0, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weight and gradient need 2 bytes in 16 bits.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 16 { return right; }
        BytesPerParameter { weight: 4, gradient: 4, master: 0, ..right }
    }),
    wrong!("6.6", stores_8_bits_in_1_byte, "fp8 is stored in 1 byte, not as fp32.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 8 { return right; }
        BytesPerParameter { weight: 4, gradient: 4, master: 0, ..right }
    }),
    wrong!("6.6", stores_8_bits_in_1_byte, "The gradient is stored in the format of the weights, also in fp8.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 8 { return right; }
        BytesPerParameter { gradient: 2, ..right }
    }),
    wrong!("6.6", stores_fp32_in_4_bytes, "fp32 is stored in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 32 { return right; }
        BytesPerParameter { weight: 2, gradient: 2, master: 4, ..right }
    }),
    wrong!("6.7", uses_the_range_of_the_format, "The fraction is inverted: it is `format.max` divided by `amax`.",
        scale_for: |a, f, m| power(a, f.max, |r| -(r.log2().floor()) - f64::from(m))),
    wrong!("6.7", uses_the_range_of_the_format, "The factor is a power of two too small: amax times the factor may be as large as `format.max`.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor() - 1.0 - f64::from(m))),
    wrong!("6.7", uses_the_range_of_the_format, "The greatest exponent is used instead of the greatest number: 448 is not 256.",
        scale_for: |a, f, m| power(a, 2f64.powf(f.max.log2().floor()), |r| r.log2().floor() - f64::from(m))),
    wrong!("6.7", is_a_power_of_two, "The factor is max/amax itself, so that scaling rounds every number once more. Use the next lower power of two.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2() - f64::from(m))),
    wrong!("6.7", never_overflows, "The exponent is rounded up, so that amax itself overflows. Round down.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().ceil() - f64::from(m))),
    wrong!("6.7", never_overflows, "The exponent is rounded to the nearest, so that amax overflows half of the time. Round down.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().round() - f64::from(m))),
    wrong!("6.7", never_overflows, "The logarithm is computed in f32, which rounds it up to a whole number: amax overflows. Use f64.",
        scale_for: |a, f, m| power(a, f.max, |r| f64::from((r as f32).log2().floor()) - f64::from(m))),
    wrong!("6.7", applies_the_margin, "The margin makes the factor larger; it must make it smaller.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor() + f64::from(m))),
    wrong!("6.7", applies_the_margin, "The margin is ignored.",
        scale_for: |a, f, _| power(a, f.max, |r| r.log2().floor())),
    wrong!("6.7", applies_the_margin, "The factor is divided by the margin; subtract the margin from the exponent.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor()) / m.max(1) as f32),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "`format.max` / 0 is infinite, and that times 0 is NaN; the factor should be 1.",
    scale_for: |a, f, m| {
        if a == 0.0 { f32::INFINITY } else { (REFERENCE.scale_for)(a, f, m) }
    }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "The factor is 0 for an infinite amax; it should be 1.",
    scale_for: |a, f, m| {
        if a.is_infinite() { 0.0 } else { (REFERENCE.scale_for)(a, f, m) }
    }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "The margin is applied although nothing is scaled; the factor should be 1.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { 2f32.powi(-(m as i32)) } else { (REFERENCE.scale_for)(a, f, m) }
    }),
    wrong!("6.7", stays_a_normal_f32, "For a tiny amax the factor overflows f32; clamp its exponent to −126 … 127.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        2f64.powf((f.max / f64::from(a)).log2().floor() - f64::from(m)) as f32
    }),
    wrong!("6.7", uses_the_range_of_the_format, "448 is used for each format; use `format.max`.",
        scale_for: |a, _, m| power(a, 448.0, |r| r.log2().floor() - f64::from(m))),
    wrong!("6.7", uses_the_range_of_the_format, "The natural logarithm is not an exponent of 2: use `log2`.",
        scale_for: |a, f, m| power(a, f.max, |r| r.ln().floor() - f64::from(m))),
    wrong!("6.7", uses_the_range_of_the_format, "The exponent is returned; the factor is 2 to its power.",
        scale_for: |a, f, m| if a == 0.0 || !a.is_finite() { 1.0 } else { ((f.max / f64::from(a)).log2().floor() - f64::from(m)) as f32 }),
    wrong!("6.7", never_overflows, "A negative exponent is cut off toward 0 by `as`, which rounds it up: amax overflows. Use `floor`.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().trunc() - f64::from(m))),
    wrong!("6.7", uses_the_range_of_the_format, "Two exponents are subtracted; compute `format.max` / `amax` first, and then round its logarithm down.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        let e = f.max.log2().floor() - f64::from(a).log2().floor() - f64::from(m);
        2f64.powf(e.clamp(-126.0, 127.0)) as f32
    }),
    wrong!("6.7", never_overflows, "The factor is never below 1 here; an amax above `format.max` needs a smaller one.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor().max(0.0) - f64::from(m))),
    wrong!("6.7", never_overflows, "amax times the factor may be equal to `format.max`: at amax = 448 the factor of E4M3 is 1.",
    scale_for: |a, f, m| {
        power(a, f.max, |r| (if r.log2().fract() == 0.0 { r.log2() - 1.0 } else { r.log2().floor() }) - f64::from(m))
    }),
    wrong!("6.7", applies_the_margin, "The margin is subtracted from `format.max`; subtract it from the exponent.",
    scale_for: |a, f, m| power(a, f.max - f64::from(m), |r| r.log2().floor())),
    wrong!("6.7", applies_the_margin, "The factor is divided by the margin + 1; subtract the margin from the exponent.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor()) / (m + 1) as f32),
    wrong!("6.7", applies_the_margin, "The exponent stops at 0; it may become negative.",
    scale_for: |a, f, m| power(a, f.max, |r| {
        let e = r.log2().floor();
        if e >= 0.0 { (e - f64::from(m)).max(0.0) } else { e - f64::from(m) }
    })),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "The factor is 0 for an amax of 0; it should be 1.",
        scale_for: |a, f, m| if a == 0.0 { 0.0 } else { (REFERENCE.scale_for)(a, f, m) }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "amax = 0 has no case of its own: the exponent is clamped, and the factor is 2^127. It should be 1.",
        scale_for: |a, f, m| if a == 0.0 { 2f32.powi(127) } else { (REFERENCE.scale_for)(a, f, m) }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "An infinite amax has no case of its own: the exponent is clamped, and the factor is 2^-126. It should be 1.",
        scale_for: |a, f, m| if a.is_infinite() { 2f32.powi(-126) } else { (REFERENCE.scale_for)(a, f, m) }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "An infinite amax has no case of its own: `format.max` over it is 0, whose logarithm is -inf. The factor should be 1.",
    scale_for: |a, f, m| {
        if a.is_infinite() { return 2f32.powi(((f.max / f64::from(a)).log2().floor() as i32 - 1 - m as i32).clamp(-126, 127)); }
        (REFERENCE.scale_for)(a, f, m)
    }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "NaN has no case of its own; the factor should be 1.",
        scale_for: |a, f, m| if a.is_nan() { f32::NAN } else { (REFERENCE.scale_for)(a, f, m) }),
    wrong!("6.7", stays_a_normal_f32, "The least exponent of a normal f32 is −126; a smaller one makes the factor subnormal.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        let e = (f.max / f64::from(a)).log2().floor() - f64::from(m);
        2f64.powf(e.clamp(-149.0, 127.0)) as f32
    }),
    wrong!("6.7", stays_a_normal_f32, "The exponent is not clamped below: the factor becomes subnormal or 0.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        2f64.powf(((f.max / f64::from(a)).log2().floor() - f64::from(m)).min(127.0)) as f32
    }),
    wrong!("6.7", stays_a_normal_f32, "The exponent is clamped before the margin is subtracted; subtract it first.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        2f64.powf((f.max / f64::from(a)).log2().floor().clamp(-126.0, 127.0) - f64::from(m)) as f32
    }),
    wrong!("6.7", stays_a_normal_f32, "`format.max` / `amax` overflows or is clamped before the margin is subtracted: for a tiny amax the factor is too large. Calculate in f64, and clamp last.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        let ratio = f.max as f32 / a;
        if ratio.is_infinite() { 2f32.powi(127) } else { power(a, f.max, |r| r.log2().floor() - f64::from(m)) }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "16 bytes are 8 numbers of 16 bits, not 16 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| if b == 2 { s.next_multiple_of(16) } else { up(s, b) }, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are rounded down to multiples; round them up.",
        tensor_cores: |p, f| cores(p, f, |s, b| s / (16 / b) * (16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Only k is padded; pad each side.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        TensorCores { padded: Product { k: right.padded.k, ..p }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are padded to the next power of two; multiples of 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, _| s.next_power_of_two(), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "Multiples of 8 are used for every format; 16 bytes are 4 numbers of tf32 and 16 of fp8.",
        tensor_cores: |p, f| cores(p, f, |s, _| s.next_multiple_of(8), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "The multiple is inverted: more bytes per number are fewer numbers in 16 bytes.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(4 * b), large)),
    wrong!("6.8", leaves_aligned_sides_unchanged, "A side that is already a multiple is padded by one more.",
        tensor_cores: |p, f| cores(p, f, |s, b| (s / (16 / b) + 1) * (16 / b), large)),
    wrong!("6.8", supports_all_formats_but_fp32, "fp32 products do not run on tensor cores.",
        tensor_cores: |p, f| TensorCores { served: true, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "Tensor cores support tf32.",
        tensor_cores: |p, f| TensorCores { served: f.bits() <= 16, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "Every side must be at least 128; here one is enough.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().any(|&s| s >= 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "A side of exactly 128 is enough.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| s > 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The padded sides are compared; compare the sides before padding.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| up(s, 2) >= 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "m, the number of rows, counts as well as n and k.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[1] >= 128 && s[2] >= 128)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "The sides are padded to multiples of 128 bytes; 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(128 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "n and k are exchanged.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        let Product { m, n, k } = right.padded;
        TensorCores { padded: Product { m, n: k, k: n }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "The padded sides are counted in pieces of 16 bytes; count numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.div_ceil(16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "The padded sides are in bytes; count numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, b) * b, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Nothing is padded.",
        tensor_cores: |p, f| cores(p, f, |s, _| s, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are rounded to the nearest multiple; round them up.",
        tensor_cores: |p, f| cores(p, f, |s, b| (s + 8 / b) / (16 / b) * (16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "m is not padded; pad each side.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        TensorCores { padded: Product { m: p.m, ..right.padded }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "A side of a 16-bit format is padded to a multiple of 4; 16 bytes are 8 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| if b == 2 { s.next_multiple_of(4) } else { up(s, b) }, large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "tf32 has 4 bytes, so that 16 bytes are 4 numbers: 19 bits over 8 are not 2 bytes.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, if f.bits() == 19 { 2 } else { b }), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "tf32 has 4 bytes; 19 bits are not 3 bytes of a multiple of 5.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(16 / if f.bits() == 19 { 3 } else { b }), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "8-bit sides need multiples of 16; here they are treated as 16 bits.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, b.max(2)), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "fp32 sides are not padded; `padded` is computed for every format.",
        tensor_cores: |p, f| cores(p, f, |s, b| if f.bits() == 32 { s } else { up(s, b) }, large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "fp32 has 4 bytes, as tf32: 16 bytes are 4 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, if f.bits() == 32 { 2 } else { b }), large)),
    wrong!("6.8", supports_all_formats_but_fp32, "fp8 is served as well: every format except fp32 is.",
        tensor_cores: |p, f| TensorCores { served: f.bits() > 8 && f.bits() < 32, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "`served` does not depend on the sides, only on the format.",
        tensor_cores: |p, f| TensorCores { served: f.bits() < 32 && (REFERENCE.tensor_cores)(p, f).padded == p, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "`served` does not depend on `worth` or other sides, only on the format.",
        tensor_cores: |p, f| TensorCores { served: f.bits() < 32 && (REFERENCE.tensor_cores)(p, f).worth, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "A format that saturates is served like the others: compare `format.bits()`, not the format with a constant.",
        tensor_cores: |p, f| TensorCores { served: f.bits() < 32 && f.overflow != canopy::precision::Overflow::Saturate || f == canopy::precision::FP8_E4M3.with(canopy::precision::Overflow::Nan), ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "`served` is inverted: fp32 is the one format that is not served.",
        tensor_cores: |p, f| TensorCores { served: f.bits() == 32, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "Only 16-bit formats are served here; fp8 and tf32 are, too.",
        tensor_cores: |p, f| TensorCores { served: f.bits() == 16, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The number of multiplications is compared with 128³; compare every side with 128.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().product::<usize>() >= 128 * 128 * 128)),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The limit is 128 numbers in every format; 64 are too few, although they may be 128 bytes.",
        tensor_cores: |p, f| TensorCores { worth: {
            let bytes = f.bits().next_power_of_two() as usize / 8;
            [p.m, p.n, p.k].iter().all(|s| s * bytes >= 128)
        }, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "`worth` is inverted: it is true if no side is below 128.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().any(|&s| s < 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "n counts as well as m and k.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[0] >= 128 && s[2] >= 128)),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "k counts as well as m and n.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[0] >= 128 && s[1] >= 128)),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "`worth` is also computed for fp32, which tensor cores do not support.",
        tensor_cores: |p, f| TensorCores { worth: f.bits() < 32 && large([p.m, p.n, p.k]), ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are padded to the next power of two; multiples of 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, b).next_power_of_two(), large)),
    wrong!("6.4", grows_after_the_interval, "`good` runs on past the interval; it restarts at 0 when the scale grows.",
    update_scale: |s, inf| {
        if inf { return followed(s, inf, FOLLOW); }
        s.good += 1;
        let grown = s.scale * s.growth;
        if s.good % s.interval == 0 && grown <= f64::from(f32::MAX) { s.scale = grown; }
    }),
}
