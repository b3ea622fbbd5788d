//! Known wrong answers with the cause a student is told.

use candle_core::{DType, Result, Tensor};
use canopy::precision::{BytesPerParameter, Casting, Operator, TensorCores};
use grader::{Mistake, wrong};

use crate::{Lesson06, REFERENCE, parts::*};

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
    wrong!("6.1", rounds_to_the_nearest, "Bits are cut off: that rounds toward 0, not to the nearest.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::trunc, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "`floor` rounds down, toward minus infinity, not to the nearest.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::floor, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "Numbers lie 2^(e − m) apart; the spacing of 1 was taken for every x.",
        round_to: |x, f| rounded(x, f, Round { exponent: |_, _| 0, ..ROUND })),
    wrong!("6.1", rounds_to_the_nearest, "The exponent was taken in f32: just under a power of two the logarithm becomes whole, and the spacing twice as large. Take f64.",
    round_to: |x, f| {
        let whole = f64::from(x.abs().log2().floor()) > f64::from(x).abs().log2().floor();
        let exponent = if whole { |own: i32, least: i32| (own + 1).max(least) } else { ROUND.exponent };
        rounded(x, f, Round { exponent, ..ROUND })
    }),
    wrong!("6.1", sends_ties_to_even, "`round` sends ties away from 0; of two as near, the even one is asked.",
        round_to: |x, f| rounded(x, f, Round { whole: f64::round, ..ROUND })),
    wrong!("6.1", sends_ties_to_even, "Half is added and cut off: ties go up, and the even one is asked.",
        round_to: |x, f| rounded(x, f, Round { whole: |q| (q + 0.5).floor(), ..ROUND })),
    wrong!("6.1", carries_into_the_next_power_of_two, "A number that rounds up to the next power of two was kept below it.",
    round_to: |x, f| {
        let got = rounded(x, f, ROUND);
        let power = 2f32.powi(x.abs().log2().floor() as i32 + 1);
        if got.abs() == power && x.abs() < power && x.abs() >= 2f32.powi(f.least_exponent()) { got * (1.0 - f.epsilon() as f32 / 2.0) } else { got }
    }),
    wrong!("6.1", keeps_subnormal_numbers, "What lies below the least normal number became 0; there are the subnormal numbers.",
    round_to: |x, f| {
        if f64::from(x).abs() < 2f64.powi(f.least_exponent()) { 0f32.copysign(x) } else { (REFERENCE.round_to)(x, f) }
    }),
    wrong!("6.1", keeps_subnormal_numbers, "Below the least normal number the spacing no longer shrinks.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, _| own, ..ROUND })),
    wrong!("6.1", keeps_subnormal_numbers, "The least exponent is off by one: below it the spacing is that just above it.",
        round_to: |x, f| rounded(x, f, Round { exponent: |own, least| own.max(least + 1), ..ROUND })),
    wrong!("6.1", has_its_formats_overflow, "Too large a number became the greatest; `format.overflow` says what it becomes.",
        round_to: |x, f| rounded(x, f, Round { then: |x, f| (f.max as f32).copysign(x), ..ROUND })),
    wrong!("6.1", has_its_formats_overflow, "Too large a number became an infinity in every format; `format.overflow` says what it becomes.",
        round_to: |x, f| rounded(x, f, Round { then: |x, _| f32::INFINITY.copysign(x), ..ROUND })),
    wrong!("6.1", has_its_formats_overflow, "The overflow lost the sign of x.",
        round_to: |x, f| rounded(x, f, Round { then: |x, f| overflow(x.abs(), f), ..ROUND })),
    wrong!("6.1", has_its_formats_overflow, "Nothing overflows here: the greatest number is not looked at.",
        round_to: |x, f| rounded(x, f, Round { over: |_, _, _| false, ..ROUND })),
    wrong!("6.1", overflows_after_rounding, "x itself was compared with the greatest; compare what it rounds to.",
        round_to: |x, f| rounded(x, f, Round { over: |before, _, max| before > max, ..ROUND })),
    wrong!("6.1", keeps_what_is_no_number_and_signs, "NaN stays NaN.",
        round_to: |x, f| rounded(x, f, Round { nan: 0.0, ..ROUND })),
    wrong!("6.1", keeps_what_is_no_number_and_signs, "An infinity divided by its spacing is NaN; infinities go before all that.",
        round_to: |x, f| if x.is_infinite() { f32::NAN } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.1", keeps_what_is_no_number_and_signs, "A negative number so small that it rounds to 0 becomes −0.",
        round_to: |x, f| rounded(x, f, Round { signed: false, ..ROUND })),
    wrong!("6.1", keeps_what_is_no_number_and_signs, "An infinity is too large as well: in a format that saturates it becomes the greatest number.",
        round_to: |x, f| if x.is_infinite() { x } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.2", lowers_products, "Nothing runs low: then nothing is gained.", autocast: |o| cast(o, &[Operator::Matmul, Operator::Linear, Operator::Convolution], Casting::Full)),
    wrong!("6.2", lowers_products, "`Matmul` is a product like the others.", autocast: |o| cast(o, &[Operator::Matmul], Casting::AsIs)),
    wrong!("6.2", lowers_products, "A convolution is a product, too.", autocast: |o| cast(o, &[Operator::Convolution], Casting::Full)),
    wrong!("6.2", keeps_long_sums_whole, "Everything runs low: long sums lose their small terms.", autocast: |_| Casting::Low),
    wrong!("6.2", keeps_long_sums_whole, "A mean is a long sum first; it overflows fp16 before it is divided.", autocast: |o| cast(o, &[Operator::Mean], Casting::AsIs)),
    wrong!("6.2", keeps_losses_and_norms_whole, "Softmax sums exponentials: fp32.", autocast: |o| cast(o, &[Operator::Softmax], Casting::Low)),
    wrong!("6.2", keeps_losses_and_norms_whole, "Batch and layer norm take mean and variance over many numbers: fp32.",
        autocast: |o| cast(o, &[Operator::BatchNorm, Operator::LayerNorm], Casting::Low)),
    wrong!("6.2", keeps_losses_and_norms_whole, "A loss is a sum, and of logarithms or squares: fp32.",
        autocast: |o| cast(o, &[Operator::CrossEntropy, Operator::MeanSquaredError], Casting::AsIs)),
    wrong!("6.2", keeps_functions_that_grow_whole, "exp(12) is beyond fp16 already: fp32.",
        autocast: |o| cast(o, &[Operator::Exp, Operator::Log, Operator::Power], Casting::AsIs)),
    wrong!("6.2", keeps_functions_that_grow_whole, "A square of 300 is beyond fp16: powers are fp32.", autocast: |o| cast(o, &[Operator::Power], Casting::Low)),
    wrong!("6.2", takes_the_widest_where_tensors_meet, "A sum of an fp32 and an fp16 tensor in fp16 loses bits; take the widest type.",
        autocast: |o| cast(o, &[Operator::Add, Operator::Concatenate], Casting::Low)),
    wrong!("6.2", takes_the_widest_where_tensors_meet, "`Add` of two fp16 tensors needs no fp32: only the widest that comes.",
        autocast: |o| cast(o, &[Operator::Add, Operator::Concatenate], Casting::Full)),
    wrong!("6.2", leaves_the_rest_as_it_is, "A ReLU or a maximum gives what it was given: a cast to fp32 only costs memory.",
        autocast: |o| cast(o, &[Operator::Relu, Operator::Max, Operator::Dropout, Operator::Reshape], Casting::Full)),
    wrong!("6.2", leaves_the_rest_as_it_is, "A ReLU or a maximum of fp32 numbers need not lose their bits: leave them as they come.",
        autocast: |o| cast(o, &[Operator::Relu, Operator::Max, Operator::Dropout, Operator::Reshape], Casting::Low)),
    wrong!("6.3", walks_back_from_the_scaled_loss, "walk was given the loss itself; give it the loss times the scale.",
        scaled_gradients: |l, s, w| walked(l, (1.0, 1.0), w, |g| s.is_nan() || not_finite(g))),
    wrong!("6.3", walks_back_from_the_scaled_loss, "The loss was divided by the scale; multiply it.",
        scaled_gradients: |l, s, w| walked(l, (1.0 / s, 1.0 / s), w, not_finite)),
    wrong!("6.3", gives_the_gradients_of_the_loss, "The gradients are those of the scaled loss; divide them by the scale.",
        scaled_gradients: |l, s, w| walked(l, (s, 1.0), w, not_finite)),
    wrong!("6.3", gives_the_gradients_of_the_loss, "The gradients were multiplied by the scale again; divide them.",
        scaled_gradients: |l, s, w| walked(l, (s, 1.0 / s), w, not_finite)),
    wrong!("6.3", gives_the_gradients_of_the_loss, "Only the first gradient was divided.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = walked(l, (s, 1.0), w, not_finite)?;
        if let Some(first) = grads.first_mut() { *first = (&*first / s)?; }
        Ok((grads, found))
    }),
    wrong!("6.3", widens_before_it_divides, "The gradients were divided in their own type: in fp16 the quotient is 0. Turn them to fp32 first.",
    scaled_gradients: |l, s, walk| {
        walked(l, (s, 1.0), &mut |l| walk(l)?.iter().map(|g| g / s).collect(), not_finite)
    }),
    wrong!("6.3", widens_before_it_divides, "The gradients came back in fp16; fp32 is asked.",
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
    wrong!("6.3", finds_what_is_not_finite, "Infinities are found, NaN is not: no comparison with NaN is true. `is_finite` knows both.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_infinite()))),
    wrong!("6.3", finds_what_is_not_finite, "NaN is found, infinities are not.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan()))),
    wrong!("6.3", finds_what_is_not_finite, "Only the last gradient decides; one of them is enough.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| not_finite(&g[g.len().saturating_sub(1)..]))),
    wrong!("6.3", finds_what_is_not_finite, "Only the first gradient is looked at.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| not_finite(&g[..1.min(g.len())]))),
    wrong!("6.3", finds_what_is_not_finite, "Gradients that overflowed were left out of the result; all come back.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = walked(l, (s, s), w, not_finite)?;
        Ok((if found { Vec::new() } else { grads }, found))
    }),
    wrong!("6.3", takes_large_finite_gradients, "The sum was looked at: it overflows where no gradient did. Multiply by 0 first, or look at each number.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().any(|g| !g.iter().sum::<f32>().is_finite()))),
    wrong!("6.3", takes_large_finite_gradients, "Squares were summed: they overflow where no gradient did.",
        scaled_gradients: |l, s, w| walked(l, (s, s), w, |g| g.iter().flatten().any(|v| !(v * v).is_finite()))),
    wrong!("6.3", walks_once, "walk was called twice: that costs a backward pass.",
    scaled_gradients: |l, s, walk| {
        walk(&(l * s)?)?;
        walked(l, (s, s), walk, not_finite)
    }),
    wrong!("6.3", fails_where_the_walk_fails, "An error of walk was passed over as if there were no gradients.",
    scaled_gradients: |l, s, walk| {
        walked(l, (s, s), &mut |l| Ok(walk(l).unwrap_or_default()), not_finite)
    }),
    wrong!("6.4", falls_at_an_overflow, "An overflow changes nothing here; the scale is multiplied by `backoff`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0), ..FOLLOW })),
    wrong!("6.4", falls_at_an_overflow, "The scale was divided by `backoff`; multiply by it.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0 / s.backoff), ..FOLLOW })),
    wrong!("6.4", falls_at_an_overflow, "It falls by ½ whatever `backoff` says.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 0.5), ..FOLLOW })),
    wrong!("6.4", falls_at_an_overflow, "Overflow and good step are mixed up.",
        update_scale: |s, inf| followed(s, !inf, FOLLOW)),
    wrong!("6.4", grows_after_so_many_good_steps, "It grows one step late: when `good` reaches `interval`, not past it.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, interval| good > interval, ..FOLLOW })),
    wrong!("6.4", grows_after_so_many_good_steps, "It grows one step early: the step that is counted comes first.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, interval| good + 1 >= interval, ..FOLLOW })),
    wrong!("6.4", grows_after_so_many_good_steps, "It grows by 2 whatever `growth` says.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (2.0, s.backoff), ..FOLLOW })),
    wrong!("6.4", grows_after_so_many_good_steps, "The interval is 2,000 whatever `interval` says.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, _| good >= 2000, ..FOLLOW })),
    wrong!("6.4", counts_anew_after_an_overflow, "Good steps before an overflow still count; they must be good in a row.",
        update_scale: |s, inf| followed(s, inf, Follow { forgets: false, ..FOLLOW })),
    wrong!("6.4", counts_anew_after_an_overflow, "The step that overflowed was counted as a good one.",
        update_scale: |s, inf| followed(s, inf, Follow { counts_bad: true, ..FOLLOW })),
    wrong!("6.4", counts_anew_after_it_grew, "After it grew, good steps are counted from 0 again; here it grows at every further one.",
        update_scale: |s, inf| followed(s, inf, Follow { begins_anew: false, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale grew beyond what an f32 holds; it stays then.",
        update_scale: |s, inf| followed(s, inf, Follow { most: f64::INFINITY, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale stays, but good steps are counted from 0 again all the same.",
    update_scale: |s, inf| {
        let (before, due) = (s.scale, !inf && s.good + 1 >= s.interval);
        let good = s.good + 1;
        followed(s, inf, FOLLOW);
        if due && s.scale == before { s.good = good; }
    }),
    wrong!("6.5", gives_the_optimizer_wide_gradients, "The optimizer was given the gradients in bf16; turn them to fp32.",
        master_step: |m, w, g, step, low| { step(g)?; copied(m, w, low) }),
    wrong!("6.5", rounds_masters_into_weights, "The weights are as they were; set each to its master, rounded.",
        master_step: |_, _, g, step, _| step(&wide(g)?)),
    wrong!("6.5", rounds_masters_into_weights, "The weights were set before the step; they are one step behind.",
        master_step: |m, w, g, step, low| { copied(m, w, low)?; step(&wide(g)?) }),
    wrong!("6.5", rounds_masters_into_weights, "Only the first weight was set.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        copied(m, &w[..1.min(w.len())], low)
    }),
    wrong!("6.5", keeps_all_bits_of_the_masters, "The masters were rounded as well; they are there to keep all bits.",
    master_step: |m, w, g, step, low| stepped((m, w, g), step, low, || Ok(()), || {
        m.iter().try_for_each(|m| m.set(&low(m.as_tensor())?.to_dtype(DType::F32)?))
    })),
    wrong!("6.5", adds_up_what_a_weight_cannot_hold, "The step starts from the rounded weights: what they cannot hold is lost each time. Start from the masters as they are.",
    master_step: |m, w, g, step, low| stepped((m, w, g), step, low, || {
        m.iter().zip(w).try_for_each(|(m, w)| m.set(&w.as_detached_tensor().to_dtype(DType::F32)?))
    }, || Ok(()))),
    wrong!("6.5", steps_once_for_all, "`step` was called twice: the optimizer went two steps.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        step(&wide(g)?)?;
        copied(m, w, low)
    }),
    wrong!("6.5", steps_once_for_all, "`step` was called for each gradient by itself; it takes all of them at once.",
    master_step: |m, w, g, step, low| {
        wide(g)?.iter().try_for_each(|g| step(std::slice::from_ref(g)))?;
        copied(m, w, low)
    }),
    wrong!("6.5", leaves_weights_where_the_step_fails, "The step failed, and the weights were set all the same: `?` after it.",
    master_step: |m, w, g, step, low| {
        let done = step(&wide(g)?);
        copied(m, w, low)?;
        done
    }),
    wrong!("6.5", leaves_weights_where_the_step_fails, "The error of the step was dropped.",
    master_step: |m, w, g, step, low| {
        if step(&wide(g)?).is_ok() { copied(m, w, low)?; }
        Ok(())
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weights in 16 bits take 2 bytes.",
        bytes_per_parameter: |f, n| BytesPerParameter { weight: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The gradient is stored in the weights' format, too.",
        bytes_per_parameter: |f, n| BytesPerParameter { gradient: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Those are bits; 8 of them are a byte.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { weight: 8 * right.weight, gradient: 8 * right.gradient, ..right }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, but it is a way to multiply: what is stored is fp32, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = f.bits().div_ceil(8);
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, neither 32 nor 16, and fell through to 1 byte; what is stored is fp32, in 4.",
    bytes_per_parameter: |f, n| {
        let stored = match f.bits() { 32 => 4, 16 => 2, _ => 1 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 10 bits of mantissa like fp16, but weights are stored as fp32.",
    bytes_per_parameter: |f, n| {
        let stored = if f.mantissa <= 10 && f.bits() > 8 { 2 } else { f.bits().div_ceil(8).min(4) };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", keeps_a_master_of_low_weights_only, "An fp32 weight is its own master; a second copy would be waste.",
        bytes_per_parameter: |f, n| BytesPerParameter { master: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", keeps_a_master_of_low_weights_only, "The fp32 master of low weights was left out.",
        bytes_per_parameter: |f, n| BytesPerParameter { master: 0, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", keeps_a_master_of_low_weights_only, "A master in the weights' format keeps nothing; it is fp32, 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.master > 0 { right.weight } else { 0 }, ..right }
    }),
    wrong!("6.6", counts_8_bits, "8 bits are one byte; everything under fp32 was taken for 16 bits.",
    bytes_per_parameter: |f, n| {
        let stored = if f.bits() > 16 { 4 } else { 2 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", counts_the_optimizers_numbers, "The optimizer's numbers are fp32 whatever the weights' format: 4 bytes each.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: right.weight * n, ..right }
    }),
    wrong!("6.6", counts_the_optimizers_numbers, "Adam's 8 bytes were taken for every optimizer; `moments` says how many numbers it keeps.",
        bytes_per_parameter: |f, n| BytesPerParameter { optimizer: 8, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.7", brings_the_greatest_near_the_top, "The fraction is turned round: the greatest number of the format is above, amax below.",
        scale_for: |a, f, m| power(a, f.max, |r| -(r.log2().floor()) - f64::from(m))),
    wrong!("6.7", brings_the_greatest_near_the_top, "The factor leaves a whole power of two unused.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor() - 1.0 - f64::from(m))),
    wrong!("6.7", brings_the_greatest_near_the_top, "The greatest exponent was taken, not the greatest number: 448 is not 256.",
        scale_for: |a, f, m| power(a, 2f64.powf(f.max.log2().floor()), |r| r.log2().floor() - f64::from(m))),
    wrong!("6.7", is_a_power_of_two, "The factor is max/amax itself; scaling by it rounds every number once more. Take the power of two below.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2() - f64::from(m))),
    wrong!("6.7", never_goes_over_the_top, "The exponent was rounded up: amax itself then overflows. Round down.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().ceil() - f64::from(m))),
    wrong!("6.7", never_goes_over_the_top, "The exponent was rounded to the nearest: half of the time amax overflows. Round down.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().round() - f64::from(m))),
    wrong!("6.7", never_goes_over_the_top, "The logarithm was taken in f32, which makes it whole: amax goes just over the top. Take f64.",
        scale_for: |a, f, m| power(a, f.max, |r| f64::from((r as f32).log2().floor()) - f64::from(m))),
    wrong!("6.7", leaves_room_by_the_margin, "The margin makes the factor larger; it must leave room.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor() + f64::from(m))),
    wrong!("6.7", leaves_room_by_the_margin, "The margin is left out.",
        scale_for: |a, f, _| power(a, f.max, |r| r.log2().floor())),
    wrong!("6.7", leaves_room_by_the_margin, "The factor was divided by the margin; the margin is a power of two to leave free.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor()) / m.max(1) as f32),
    wrong!("6.7", scales_nothing_without_size, "Max over 0 is infinite, and times 0 NaN; the factor is 1 there.",
    scale_for: |a, f, m| {
        if a == 0.0 { f32::INFINITY } else { (REFERENCE.scale_for)(a, f, m) }
    }),
    wrong!("6.7", scales_nothing_without_size, "An infinite amax must not make the factor 0: it is 1 there.",
    scale_for: |a, f, m| {
        if a.is_infinite() { 0.0 } else { (REFERENCE.scale_for)(a, f, m) }
    }),
    wrong!("6.7", scales_nothing_without_size, "The margin was taken off where nothing is scaled; the factor is 1 there.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { 2f32.powi(-(m as i32)) } else { (REFERENCE.scale_for)(a, f, m) }
    }),
    wrong!("6.7", stays_an_ordinary_number, "For a tiny amax the factor is beyond f32, infinite; keep its exponent from −126 to 127.",
    scale_for: |a, f, m| {
        if a == 0.0 || !a.is_finite() { return 1.0; }
        2f64.powf((f.max / f64::from(a)).log2().floor() - f64::from(m)) as f32
    }),
    wrong!("6.8", pads_16_bit_sides_to_8, "16 bytes are 8 numbers of 16 bits, not 16.",
        tensor_cores: |p, f| cores(p, f, |s, b| if b == 2 { s.next_multiple_of(16) } else { up(s, b) }, large)),
    wrong!("6.8", pads_16_bit_sides_to_8, "Sides were cut down to whole pieces; they are made up to them.",
        tensor_cores: |p, f| cores(p, f, |s, b| s / (16 / b) * (16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_8, "Only k was padded; each side is.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        TensorCores { padded: canopy::precision::Product { k: right.padded.k, ..p }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_8, "Sides were padded to the next power of two; whole pieces of 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, _| s.next_power_of_two(), large)),
    wrong!("6.8", pads_by_the_bytes_of_a_number, "Multiples of 8 for every format; 16 bytes are 4 numbers of tf32 and 16 of fp8.",
        tensor_cores: |p, f| cores(p, f, |s, _| s.next_multiple_of(8), large)),
    wrong!("6.8", pads_by_the_bytes_of_a_number, "The multiple is turned round: more bytes a number are fewer numbers in 16 bytes.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(4 * b), large)),
    wrong!("6.8", leaves_whole_sides_alone, "A side that is whole already was given one piece more.",
        tensor_cores: |p, f| cores(p, f, |s, b| (s / (16 / b) + 1) * (16 / b), large)),
    wrong!("6.8", serves_all_but_fp32, "fp32 products run on ordinary cores.",
        tensor_cores: |p, f| TensorCores { served: true, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", serves_all_but_fp32, "tf32 is what tensor cores make of fp32: they take it.",
        tensor_cores: |p, f| TensorCores { served: f.bits() <= 16, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_from_128_on_every_side, "One short side is enough to make it not worth while: every side counts.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().any(|&s| s >= 128))),
    wrong!("6.8", is_worth_it_from_128_on_every_side, "128 itself is enough.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| s > 128))),
    wrong!("6.8", is_worth_it_from_128_on_every_side, "The padded sides were compared; padding makes a product no more worth.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| up(s, 2) >= 128))),
    wrong!("6.8", is_worth_it_from_128_on_every_side, "m, the rows, counts as well as n and k.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[1] >= 128 && s[2] >= 128)),
];
