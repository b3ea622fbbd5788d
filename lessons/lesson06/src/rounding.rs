//! 6.1: rounding to a format.

use std::ops::Range;

use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, REFERENCE, answers, formats::*};

/// Numbers, and the format that each is rounded to.
type Input = (Vec<f32>, Format);

/// Compares exactly, and the signs of zeros as well, as they are printed.
fn rounded(answer: &Lesson06, (list, format): Input) -> Verdict {
    let facts = |lesson: &Lesson06| {
        let rounded = list.iter().map(|&x| (lesson.round_to)(x, format));
        Facts::default().items("rounded", rounded)
    };
    given(format!("each of {list:?}, to {}", named(format))).same(facts(answer), facts(&REFERENCE))
}

/// Numbers of these exponents of f32, with mantissas that are ties, next to a tie, and any.
fn at_exponents(d: &mut Draw, exponents: Range<u32>, format: Format) -> Vec<Input> {
    let past = 23 - format.mantissa;
    let half = (1u32 << past) >> 1;
    let mut list = |exponent: u32| {
        let any = d.below(3, 1 << 23);
        let odd = ((any[0] | (1 << past)) & (u32::MAX << past)) | half;
        let even = (any[1] & (u32::MAX << (past + 1))) | half;
        let mantissas = [even, odd, odd - 1, even + 1, any[2], 0, 1, (1 << 23) - 1];
        let float = |m: u32| f32::from_bits((any[2] << 31) | (exponent << 23) | (m % (1 << 23)));
        (mantissas.map(float).into(), format)
    };
    exponents.map(&mut list).collect()
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.1";
    by rounded {
        rounds_to_the_nearest: "nearest number of `format`",
            "With e = floor(log₂|x|) in f64, divide x by 2^(e − m), round to the nearest, and multiply." => |d| {
            // The logarithm of 2^24 − 1 is 24 in f32.
            let fixed = vec![1.0007, 1.0004, 3.3019, -3.3019, 100.04, -0.3001];
            let mut all = vec![(fixed, FP16), (vec![16_777_215.0], FP32)];
            all.extend(ALL.map(|f| ([d.list(2, -2.0, 2.0), d.list(2, -60.0, 60.0)].concat(), f)));
            // Up to the next power of two, but for fp32.
            all.extend(ALL.map(|f| (times(0.25 - 0.03 * f.epsilon(), &[1.0, 8.0, -64.0]), f)));
            all
        };
        rounds_ties_to_even: "ties to even",
            "A number half way between two neighbours goes to the even one: use `round_ties_even`, in f64." => |d| {
            let mut all = vec![(vec![2049.0, 2051.0, -2049.0, -2051.0], FP16)];
            all.extend(ALL.into_iter().flat_map(|f| at_exponents(d, 121..129, f)));
            all
        };
        keeps_subnormal_numbers: "at least `format.least_exponent()`",
            "Below the least normal number, e is `format.least_exponent()`: round to multiples of that spacing." =>
            |d| [FP16, FP8_E4M3, FP8_E5M2].into_iter().flat_map(|f| {
            // The smallest number is odd: half of it is as near to 0, which is even.
            let fixed = [3.0, 0.7, 0.3, 0.5, 1.5, 2.5, 2.3, -0.6];
            let drawn = [d.number(0.55, 0.95), d.number(0.1, 0.45), d.number(1.1, 3.4)];
            let near = times(2f64.powi(f.least_exponent()), &[0.6, -0.8, drawn[0], d.number(1.01, 1.9), 1.0]);
            [(times(f.least(), &fixed), f), (times(f.least(), &drawn), f), (near, f)]
        }).collect();
        overflows_as_its_format_says: "above `format.max`",
            "If the rounded |x| exceeds `format.max`, `format.overflow` is the result, with the sign of x." => |d| {
            let far = d.number(1.2, 30.0);
            let formats = with_every_overflow(&[FP16, FP8_E5M2, FP8_E4M3]).into_iter();
            formats.map(|f| (times(f.max, &[1.0, -1.0, far, -far]), f)).collect()
        };
        overflows_after_rounding: "A rounded |x| above",
            "Round first, as if there were no greatest number, and then compare with `format.max`." => |d| {
            let near = d.number(65505.0, 65519.5) as f32;
            // The number after 65504 would be 65536, which is even; 448 is even, too, and its tie does not overflow.
            let mut all = vec![
                (vec![65519.0, 65520.0, near, -near, -65530.0], FP16),
                (vec![65519.0, 65520.0, -65530.0], FP16.with(Overflow::Saturate)),
                (vec![463.0, 464.0, 465.0, -463.0], FP8_E4M3),
                (vec![61439.0, 61440.0, -61000.0], FP8_E5M2),
            ];
            let wide = with_every_overflow(&[BF16, TF32, FP32]).into_iter();
            all.extend(wide.map(|f| (vec![f.max as f32, f32::MAX, -f32::MAX], f)));
            all
        };
        preserves_nan_and_sign: "NaN stays, and so does the sign of 0",
            "Return NaN and zeros as they are, first; and a negative number that rounds to 0 becomes −0." => |_| {
            let special = with_every_overflow(&ALL).into_iter().map(|f| (vec![f32::NAN, 0.0, -0.0], f));
            special.chain([FP16, FP8_E4M3, FP8_E5M2].map(|f| (vec![1e-12, -1e-12], f))).collect()
        };
        overflows_from_infinity: "or an infinite `x`",
            "An infinity overflows in every format, fp32 as well: handle it first, by `format.overflow`." => |_| {
            let infinities = vec![f32::INFINITY, f32::NEG_INFINITY];
            with_every_overflow(&ALL).into_iter().map(|f| (infinities.clone(), f)).collect()
        };
        is_exact_for_every_exponent: "The spacing at `x`",
            "Calculate in f64, which has every f32 and every spacing, also those of the smallest numbers." => |d| {
            let mut all = ALL.map(|f| (times(f.least(), &[3.0, 0.7, -2.3]), f)).to_vec();
            all.extend(ALL.into_iter().flat_map(|f| at_exponents(d, 0..255, f)));
            all
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.1" round_to;
    1 "A negative number that rounds to 0 loses its sign; it should become −0.";
    2 "A number that is too large becomes the greatest number; `format.overflow` defines the result.";
    3 "A number that is too large becomes an infinity in every format; `format.overflow` defines the result.";
    4 "In f32, the logarithm just below a power of two is rounded up, and the spacing is twice as large. Use f64.";
    5 "An infinity divided by its spacing is NaN; handle infinities first.";
    6 "Computed in f32, the spacing 2^(e − m) becomes 0 for the smallest numbers of bf16, tf32 and fp32. Use f64.";
    7 "`round` rounds ties away from 0; round them to even.";
    8 "x itself is compared with `format.max`; compare the rounded value.";
};
