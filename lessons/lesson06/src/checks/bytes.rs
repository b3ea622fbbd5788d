use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, TF32};
use grader::{Verdict, draw, given};

use crate::Lesson06;

/// Tests those of weight, gradient, master and optimizer that are in `which`.
fn check(answer: &Lesson06, format: Format, moments: u32, expected: [u32; 4], which: &[usize]) -> Verdict {
    let got = (answer.bytes_per_parameter)(format, moments);
    let got = [got.weight, got.gradient, got.master, got.optimizer];
    let case = given(format!(
        "{}, {moments} fp32 numbers of the optimizer",
        format.name
    ));
    for &i in which {
        let what = ["weight", "gradient", "master", "optimizer"][i];
        case.close(&format!("bytes of the {what}"), got[i], expected[i])?;
    }
    Ok(())
}

pub fn stores_16_bits_in_2_bytes(answer: &Lesson06) -> Verdict {
    check(answer, FP16, 2, [2, 2, 4, 8], &[0, 1])?;
    check(answer, BF16, 2, [2, 2, 4, 8], &[0, 1])
}

pub fn stores_tf32_as_fp32(answer: &Lesson06) -> Verdict {
    check(answer, TF32, 2, [4, 4, 0, 8], &[0, 1, 2, 3])
}

pub fn has_masters_only_in_low_precision(answer: &Lesson06) -> Verdict {
    check(answer, BF16, 1, [2, 2, 4, 4], &[2])?;
    check(answer, FP16, 2, [2, 2, 4, 8], &[2])?;
    check(answer, FP32, 2, [4, 4, 0, 8], &[0, 1, 2])
}

pub fn stores_8_bits_in_1_byte(answer: &Lesson06) -> Verdict {
    check(answer, FP8_E4M3, 2, [1, 1, 4, 8], &[0, 1, 2])?;
    check(answer, FP8_E5M2, 2, [1, 1, 4, 8], &[0, 1, 2])
}

pub fn counts_the_optimizer_state(answer: &Lesson06) -> Verdict {
    let moments = draw().whole(3, 9) as u32;
    for format in [FP32, BF16] {
        for moments in [0, 1, moments] {
            check(answer, format, moments, [0, 0, 0, 4 * moments], &[3])?;
        }
    }
    Ok(())
}
