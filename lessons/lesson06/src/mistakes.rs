//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{DType, Result, Tensor};
use canopy::precision::{BytesPerParameter, Casting, Operator, TensorCores};
use grader::{Mistake, wrong};

use crate::{Lesson06, REFERENCE, answer_helpers::*};

/// One casting for some operators, the others as they should be.
fn cast(operator: Operator, which: &[Operator], to: Casting) -> Casting {
    if which.contains(&operator) {
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

pub const MISTAKES: &[Mistake<Lesson06>] = &[
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
    wrong!("6.1", preserves_nan_infinity_and_sign, "NaN stays NaN.",
        round_to: |x, f| rounded(x, f, Round { nan: 0.0, ..ROUND })),
    wrong!("6.1", preserves_nan_infinity_and_sign, "An infinity divided by its spacing is NaN; handle infinities first.",
        round_to: |x, f| if x.is_infinite() { f32::NAN } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.1", preserves_nan_infinity_and_sign, "A negative number that rounds to 0 loses its sign; it should become −0.",
        round_to: |x, f| rounded(x, f, Round { signed: false, ..ROUND })),
    wrong!("6.1", preserves_nan_infinity_and_sign, "An infinity overflows as well: in a format that saturates, it becomes the greatest number.",
        round_to: |x, f| if x.is_infinite() { x } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.2", casts_products_to_low_precision, "No operator runs in low precision: then nothing is gained.", autocast: |o| cast(o, &[Operator::Matmul, Operator::Linear, Operator::Convolution], Casting::Full)),
    wrong!("6.2", casts_products_to_low_precision, "`Matmul` is a product like the others.", autocast: |o| cast(o, &[Operator::Matmul], Casting::AsIs)),
    wrong!("6.2", casts_products_to_low_precision, "A convolution is a product as well.", autocast: |o| cast(o, &[Operator::Convolution], Casting::Full)),
    wrong!("6.2", keeps_long_sums_in_fp32, "Every operator runs in low precision: long sums lose their small terms.", autocast: |_| Casting::Low),
    wrong!("6.2", keeps_long_sums_in_fp32, "A mean starts with a long sum, which overflows fp16 before the division.", autocast: |o| cast(o, &[Operator::Mean], Casting::AsIs)),
    wrong!("6.2", keeps_losses_and_norms_in_fp32, "Softmax sums exponentials: it needs fp32.", autocast: |o| cast(o, &[Operator::Softmax], Casting::Low)),
    wrong!("6.2", keeps_losses_and_norms_in_fp32, "Batch norm and layer norm compute mean and variance over many numbers: they need fp32.",
        autocast: |o| cast(o, &[Operator::BatchNorm, Operator::LayerNorm], Casting::Low)),
    wrong!("6.2", keeps_losses_and_norms_in_fp32, "A loss is a sum of logarithms or squares: it needs fp32.",
        autocast: |o| cast(o, &[Operator::CrossEntropy, Operator::MeanSquaredError], Casting::AsIs)),
    wrong!("6.2", keeps_growing_functions_in_fp32, "exp(12) already overflows fp16: it needs fp32.",
        autocast: |o| cast(o, &[Operator::Exp, Operator::Log, Operator::Power], Casting::AsIs)),
    wrong!("6.2", keeps_growing_functions_in_fp32, "The square of 300 overflows fp16: powers need fp32.", autocast: |o| cast(o, &[Operator::Power], Casting::Low)),
    wrong!("6.2", promotes_to_the_widest_dtype, "The sum of an fp32 and an fp16 tensor loses bits in fp16; use the widest dtype.",
        autocast: |o| cast(o, &[Operator::Add, Operator::Concatenate], Casting::Low)),
    wrong!("6.2", promotes_to_the_widest_dtype, "`Add` of two fp16 tensors does not need fp32: use the widest dtype of its inputs.",
        autocast: |o| cast(o, &[Operator::Add, Operator::Concatenate], Casting::Full)),
    wrong!("6.2", leaves_other_operators_unchanged, "A ReLU or a maximum returns its inputs: a cast to fp32 only costs memory.",
        autocast: |o| cast(o, &[Operator::Relu, Operator::Max, Operator::Dropout, Operator::Reshape], Casting::Full)),
    wrong!("6.2", leaves_other_operators_unchanged, "A ReLU or a maximum of fp32 numbers need not lose bits: leave its inputs as they are.",
        autocast: |o| cast(o, &[Operator::Relu, Operator::Max, Operator::Dropout, Operator::Reshape], Casting::Low)),
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
    wrong!("6.3", finds_inf_and_nan, "Gradients that overflowed are missing in the result; return all of them.",
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
    wrong!("6.4", backs_off_after_an_overflow, "An overflow changes nothing here; the scale is multiplied by `backoff`.",
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
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weights in 16 bits need 2 bytes.",
        bytes_per_parameter: |f, n| BytesPerParameter { weight: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The gradient is stored in the format of the weights as well.",
        bytes_per_parameter: |f, n| BytesPerParameter { gradient: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "These are bits; 8 bits are one byte.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { weight: 8 * right.weight, gradient: 8 * right.gradient, ..right }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, but it is only used for multiplication: fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = f.bits().div_ceil(8);
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, neither 32 nor 16, and falls through to 1 byte; fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = match f.bits() { 32 => 4, 16 => 2, _ => 1 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 10 mantissa bits like fp16, but weights are stored as fp32.",
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
    wrong!("6.7", uses_the_range_of_the_format, "The fraction is inverted: it is `format.max` divided by `amax`.",
        scale_for: |a, f, m| power(a, f.max, |r| -(r.log2().floor()) - f64::from(m))),
    wrong!("6.7", uses_the_range_of_the_format, "The factor is a power of two too small.",
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
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "16 bytes are 8 numbers of 16 bits, not 16 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| if b == 2 { s.next_multiple_of(16) } else { up(s, b) }, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are rounded down to multiples; round them up.",
        tensor_cores: |p, f| cores(p, f, |s, b| s / (16 / b) * (16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Only k is padded; pad each side.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        TensorCores { padded: canopy::precision::Product { k: right.padded.k, ..p }, ..right }
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
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "Every side must be at least 128; here only some are compared.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().any(|&s| s >= 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "A side of exactly 128 is enough.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| s > 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The padded sides are compared; compare the sides before padding.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| up(s, 2) >= 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "m, the number of rows, counts as well as n and k.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[1] >= 128 && s[2] >= 128)),
];
