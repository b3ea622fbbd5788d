//! 6.6: bytes per parameter.

use canopy::precision::{FP8_E5M2, FP16, FP32, Format, TF32};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, REFERENCE, answers, formats::*};

/// Compares the first `COUNT` fields, for a format and the optimizer's moments.
fn bytes<const COUNT: usize>(answer: &Lesson06, (format, moments): (Format, u32)) -> Verdict {
    let facts = |lesson: &Lesson06| {
        let b = (lesson.bytes_per_parameter)(format, moments);
        let all = [b.weight, b.gradient, b.master, b.optimizer];
        let names = ["weight", "gradient", "master", "optimizer"];
        Facts::default().items("bytes", names.into_iter().zip(all).take(COUNT))
    };
    given(format!("{}, {moments} moments", named(format))).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.6";
    by bytes::<2> {
        stores_weights_in_whole_bytes: "4 bytes each in fp32 and tf32",
            "Weight and gradient take 4 bytes each in fp32 and tf32 (which has 19 bits, stored in 4 bytes), 2 in 16 bits, 1 in 8." =>
            |_| with_every_overflow(&ALL).into_iter().map(|f| (f, 2)).collect();
    }
    by bytes::<3> {
        has_masters_only_in_low_precision: "which have an fp32 master",
            "The master takes 4 bytes if the weight takes fewer, and 0 if it takes 4 itself." => |d| {
            let moments = [2, 1, 0, d.whole(3, 9) as u32];
            with_every_overflow(&ALL).into_iter().flat_map(|f| moments.map(|n| (f, n))).collect()
        };
    }
    by bytes::<4> {
        counts_the_optimizer_state: "`moments` numbers in fp32",
            "The optimizer takes 4 bytes for each of its `moments` numbers, in every format: no more, no less." => |d| {
            let moments = [0, 1, d.whole(3, 90) as u32, 2, 3];
            [FP32, FP16, TF32, FP8_E5M2].into_iter().flat_map(|f| moments.map(|n| (f, n))).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.6" bytes_per_parameter;
    1 "tf32 has 19 bits, but no 3 bytes: it is only used for multiplication, and fp32 is stored, in 4 bytes.";
    2 "tf32 has 19 bits, neither 32 nor 16, and falls through to 1 byte; fp32 is stored, in 4 bytes.";
    3 "8 bits are one byte; here every format below fp32 is treated as 16 bits.";
    4 "An fp32 weight is its own master and needs no second copy.";
    5 "The fp32 master of low-precision weights is missing.";
    6 "The optimizer's numbers are always fp32: 4 bytes each.";
};
