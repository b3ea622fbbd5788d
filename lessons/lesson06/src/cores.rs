//! 6.8: products on tensor cores.

use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Product, TF32};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, REFERENCE, answers, formats::*};

/// The sides m, n and k of a product, and its format.
type Input = ([usize; 3], Format);

/// Compares the padded sides, then `served`, then `worth`: the first `COUNT` of these five.
fn product<const COUNT: usize>(answer: &Lesson06, ([m, n, k], format): Input) -> Verdict {
    let facts = |lesson: &Lesson06| {
        let t = (lesson.tensor_cores)(Product { m, n, k }, format);
        let [served, worth] = [t.served, t.worth].map(usize::from);
        let all = [t.padded.m, t.padded.n, t.padded.k, served, worth];
        let names = ["padded m", "padded n", "padded k", "served", "worth"];
        Facts::default().items("tensor cores", names.into_iter().zip(all).take(COUNT))
    };
    given(format!("m = {m}, n = {n}, k = {k} in {}", named(format))).same(facts(answer), facts(&REFERENCE))
}

fn each(sides: &[[usize; 3]], formats: &[Format]) -> Vec<Input> {
    let in_each = |&f: &Format| sides.iter().map(move |&sides| (sides, f));
    formats.iter().flat_map(in_each).collect()
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.8";
    by product::<3> {
        pads_16_bit_sides_to_multiples_of_8: "8 of 16 bits",
            "Round each of m, n and k up to the next multiple of 8: 16 bytes are 8 numbers of 16 bits." => |d| {
            let (odd, even) = (16 * d.whole(1, 60) + d.whole(1, 3), 16 * d.whole(1, 90));
            let sides = [[200, 50, 3], [8, 24, even], [odd, 5, 24], [5, 24, 3], [24, 3, odd], [3, odd, 5]];
            each(&sides, &with_every_overflow(&[BF16, FP16]))
        };
        pads_by_the_width_of_the_format: "4 of any longer format",
            "By `format.bits()`, 16 bytes are 16 numbers of 8 bits, and 4 of more than 16 bits, tf32 and fp32." => |d| {
            let (odd, even) = (16 * d.whole(1, 60) + d.whole(1, 3), 16 * d.whole(1, 90));
            let sides = [[odd, 5, 24], [5, 24, 3], [24, 3, odd], [3, odd, 5], [4, 12, 20], [even, 16, 48]];
            each(&sides, &with_every_overflow(&[FP8_E4M3, TF32, FP32, FP8_E5M2]))
        };
    }
    by product::<4> {
        supports_all_formats_but_fp32: "How well tensor cores support",
            "`served` follows from `format.bits()` alone, not from the sides: every format but fp32 is served." => |d| {
            let any = [d.whole(129, 900), d.whole(1, 120), d.whole(1, 900)];
            // Multiples of 16 bytes in each format, worth it or not, and neither.
            each(&[[256, 256, 128], [32, 64, 16], [3, 5, 1], any], &with_every_overflow(&ALL))
        };
    }
    by product::<5> {
        is_worth_it_if_every_side_is_at_least_128: "`worth` ignores the padding",
            "`worth` is true if each of the three sides itself, before padding, is 128 or more, in any format." => |d| {
            let (large, small) = (d.whole(129, 4000), d.whole(1, 120));
            each(&[
                [200, 200, 200], [200, 100, 60], [large, large, small], [small, large, large], [large, small, large],
                [128, 128, 128], [127, 200, 200], [200, 127, 200], [200, 200, 127], [200, 200, 60], [9000, 9000, 64],
                // Large sides that are no multiples of 128.
                [large, 128, large + 1], [large | 1, 129, 200], [small, small, large], [small, small, small],
            ], &ALL)
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.8" tensor_cores;
    1 "Multiples of 8 are for 16 bits: 16 bytes are 16 numbers of 8 bits, and 4 of fp32 or tf32.";
    2 "tf32 and fp32 take 4 bytes a number, so 16 bytes are 4 numbers (the 19 bits of tf32 are not 2 bytes).";
    3 "Sides are rounded down to multiples; round them up.";
    4 "A side that is already a multiple is padded by one more.";
    5 "Every side must be at least 128; here one is enough.";
    6 "A side of exactly 128 is enough.";
    7 "The padded sides are compared; compare the sides before padding.";
    8 "fp32 products do not run on tensor cores.";
};
