//! Known wrong answers to exercise 6.1.

use super::*;

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
    wrong!("6.1", preserves_nan_and_sign, "NaN stays NaN.",
        round_to: |x, f| rounded(x, f, Round { nan: 0.0, ..ROUND })),
    wrong!("6.1", overflows_from_infinity, "An infinity divided by its spacing is NaN; handle infinities first.",
        round_to: |x, f| if x.is_infinite() { f32::NAN } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.1", preserves_nan_and_sign, "A negative number that rounds to 0 loses its sign; it should become −0.",
        round_to: |x, f| rounded(x, f, Round { signed: false, ..ROUND })),
    wrong!("6.1", overflows_from_infinity, "An infinity overflows as well: in a format that saturates, it becomes the greatest number.",
        round_to: |x, f| if x.is_infinite() { x } else { (REFERENCE.round_to)(x, f) }),
    wrong!("6.1", overflows_from_infinity, "fp32 is returned unchanged, but an infinity overflows there as well: `format.overflow` defines the result.",
        round_to: |x, f| if f.mantissa == 23 { x } else { (REFERENCE.round_to)(x, f) }),
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
    wrong!("6.1", preserves_nan_and_sign, "Computed in f32, the spacing 2^(e − m) becomes 0 for 0 and the smallest numbers of bf16, tf32 and fp32, and 0 / 0 is NaN. Use f64.",
    round_to: |x, f| {
        let spacing = 2f32.powi(f.least_exponent() - f.mantissa as i32);
        if x == 0.0 && spacing == 0.0 { f32::NAN } else { in_f32(x, f, |own, least| own.max(least)) }
    }),
    wrong!("6.1", overflows_after_rounding, "The tie just above `format.max` (65,520 in fp16) rounds to a number that the format does not have: compare the rounded value with `format.max`.",
    round_to: |x, f| {
        let spacing = 2f64.powf(f.max.log2().floor()) * f.epsilon();
        let fits = f64::from(x).abs() <= f.max + spacing / 2.0;
        rounded(x, if fits { Format { max: f64::INFINITY, ..f } } else { f }, ROUND)
    }),
    wrong!("6.1", overflows_after_rounding, "The exponent alone does not decide: in E4M3, 480 has the exponent of 448 and overflows. Compare the rounded value with `format.max`.",
        round_to: |x, f| rounded(x, f, Round { over: |_, after, max| after >= 2f64.powf(max.log2().floor() + 1.0), ..ROUND })),
    wrong!("6.1", keeps_subnormal_numbers, "There are no subnormal numbers here: what is below the least normal number becomes that number or 0. The spacing stays as it is just above it.",
    round_to: |x, f| {
        let least = 2f64.powi(f.least_exponent());
        let size = f64::from(x).abs();
        if x.is_nan() || size >= least { return rounded(x, f, ROUND); }
        (if size > least / 2.0 { least as f32 } else { 0.0 }).copysign(x)
    }),
];
