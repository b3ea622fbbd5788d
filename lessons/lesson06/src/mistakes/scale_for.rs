//! Known wrong answers to exercise 6.7.

use super::*;

pub const MISTAKES: &[Mistake<Lesson06>] = &[
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
    wrong!("6.7", uses_the_range_of_the_format, "The fraction is inverted: it is `format.max` divided by `amax`.",
        scale_for: |a, f, m| power(a, f.max, |r| r.recip().log2().floor() - f64::from(m))),
    wrong!("6.7", applies_the_margin, "The factor is divided by 2 · margin; subtract the margin from the exponent.",
        scale_for: |a, f, m| power(a, f.max, |r| r.log2().floor()) / (2 * m).max(1) as f32),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "NaN has no case of its own: `as` makes an exponent of 0 of it, to which the margin is applied. The factor should be 1.",
        scale_for: |a, f, m| if a.is_nan() { 2f32.powi(-(m as i32).min(126)) } else { (REFERENCE.scale_for)(a, f, m) }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "A tiny amax is taken for 0; only 0 itself has the factor 1.",
        scale_for: |a, f, m| if a < 1e-12 { 1.0 } else { (REFERENCE.scale_for)(a, f, m) }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "A tiny amax is raised to a limit first; any amax above 0 has a scale of its own.",
        scale_for: |a, f, m| if a == 0.0 { 1.0 } else { (REFERENCE.scale_for)(a.max(1e-12), f, m) }),
    wrong!("6.7", is_one_for_zero_inf_and_nan, "A tiny amax is raised to a limit first; any amax above 0 has a scale of its own.",
        scale_for: |a, f, m| if a == 0.0 { 1.0 } else { (REFERENCE.scale_for)(a.max(f32::EPSILON), f, m) }),
    wrong!("6.7", stays_a_normal_f32, "A subnormal amax is taken for 0; only 0 itself has the factor 1.",
        scale_for: |a, f, m| if a.is_normal() { (REFERENCE.scale_for)(a, f, m) } else { 1.0 }),
    wrong!("6.7", stays_a_normal_f32, "The exponent is clamped to 126; the largest one of a normal f32 is 127.",
        scale_for: |a, f, m| power(a, f.max, |r| (r.log2().floor() - f64::from(m)).min(126.0))),
];
