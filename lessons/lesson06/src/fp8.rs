//! 6.7: the scale of an fp8 tensor.

use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, REFERENCE, answers, formats::*};

/// The greatest absolute values of some tensors, the format, the margin.
type Input = (Vec<f32>, Format, u32);

const FORMATS: [Format; 4] = [FP8_E4M3, FP8_E5M2, FP8_E4M3.with(Overflow::Saturate), FP16];

/// Compares the exponents exactly: a power of two has a whole logarithm.
fn exponents(answer: &Lesson06, (list, format, margin): Input) -> Verdict {
    let facts = |lesson: &Lesson06| {
        let factors = list.iter().map(|&amax| (lesson.scale_for)(amax, format, margin));
        Facts::default().items("log2 of the factor", factors.map(|x| f64::from(x).log2()))
    };
    let text = format!("amax each of {list:?}, {}, margin {margin}", named(format));
    given(text).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.7";
    by exponents {
        uses_the_range_of_the_format: "The largest power of two",
            "The factor is 2^e with e = floor(log₂(`format.max` / amax)): divide first, then round down." => |d| {
            let mut all = [FP8_E4M3, FP8_E5M2].map(|f| (vec![3.0, 1.0, 1.9, 2.0, 0.4], f, 0)).to_vec();
            // Wider formats, whose range is that of f32.
            all.extend([BF16, TF32, FP32].map(|f| (vec![3.0, 1000.0, 1e20, 3e38], f, 0)));
            // Not so small that an answer might take them for 0: that is another check's.
            all.extend(FORMATS.map(|f| ([d.list(2, 0.001, 0.1), d.list(2, 0.1, 90.0)].concat(), f, 0)));
            all
        };
        never_overflows: "at most `format.max`",
            "Round the logarithm down with `floor`, in f64, also below 0: amax · 2^e is at most `format.max`." =>
            |d| FORMATS.into_iter().flat_map(|f| {
            let most = f.max as f32;
            let power = 2f64.powi(d.whole(0, 20) as i32 - 10);
            let above = [1.0, d.number(1.5, 1.9), d.number(1.01, 1.3)];
            [
                // Exponents of 0, above and below.
                (times(f.max, &[1.0, 1.2, 2.0, 3.0, 0.5]), f, 0),
                (times(f.max * power, &above), f, 0),
                // The next number of f32: so near that a logarithm in f32 is a whole number.
                (vec![(most / 256.0).next_up(), most / 256.0], f, 0),
            ]
        }).collect();
        applies_the_margin: "reduced by `margin`", "Subtract the margin from e, which may become negative." => |d| {
            let any = times(1.0, &[d.number(0.01, 0.09), d.number(1.0, 9.0), d.number(100.0, 900.0)]);
            // 448 is 7 times a power of two: a slightly smaller number is not. 9 is more than some of the exponents.
            let fixed = [1, 3, 9].map(|margin| (vec![3.0, 7.0, 100.0, 300.0, 1000.0], FP8_E4M3, margin));
            [fixed, [2, 4, 12].map(|margin| (any.clone(), FP8_E5M2, margin))].concat()
        };
        is_one_for_zero_inf_and_nan: "0, infinite or NaN",
            "The factor is 1 for 0, infinity and NaN alone, whatever the margin is: handle them first." => |_| {
            let special = |margin| FORMATS.map(|f| (vec![0.0, f32::INFINITY, f32::NAN], f, margin));
            // Any limit below which amax counts as 0 gives the same.
            let tiny = FORMATS.map(|f| (vec![1e-20, 1e-25, 1e-30], f, 0));
            [special(0), special(2), tiny].concat()
        };
        stays_a_normal_f32: "clamped to",
            "For any amax above 0, calculate e in f64, subtract the margin, and clamp last, to −126 … 127." =>
            |d| FORMATS.into_iter().flat_map(|f| {
            let tiny = d.number(1.0, 9.0) as f32 * 1e-40;
            [
                (vec![tiny], f, 0),
                // The exponent is reduced before it is clamped.
                (vec![tiny, f32::from_bits(1), f32::MIN_POSITIVE], f, 40),
                (vec![1e-30, 1.0, 3e38], f, d.whole(400, 1000) as u32),
                (vec![3e38, f32::MAX], f, 20),
            ]
        }).collect();
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.7" scale_for;
    1 "amax = 0 has no case of its own: the exponent is clamped, and the factor is 2^127. It should be 1.";
    2 "The margin is applied although nothing is scaled; the factor should be 1.";
    3 "The fraction is inverted: it is `format.max` divided by `amax`.";
    4 "A negative exponent is cut off toward 0 by `as`, which rounds it up: amax overflows. Use `floor`.";
    5 "The factor is max/amax itself, so that scaling rounds every number. Use the next lower power of two.";
    6 "The margin makes the factor larger; it must make it smaller.";
    7 "The exponent is clamped before the margin is subtracted; subtract it first.";
    8 "The exponent is not clamped: the factor overflows, or becomes subnormal or 0. Clamp it to −126 … 127.";
};
