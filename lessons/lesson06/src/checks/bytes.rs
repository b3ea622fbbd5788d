use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};
use grader::{Verdict, draw, given};

use crate::Lesson06;

const NAMES: [&str; 4] = ["weight", "gradient", "master", "optimizer"];

fn named(format: Format) -> String {
    let saturates = format.overflow == Overflow::Saturate;
    format!("{}{}", format.name, if saturates { " (saturating)" } else { "" })
}

/// Compares those of weight, gradient, master and optimizer that are in `which`.
fn check(answer: &Lesson06, format: Format, moments: u32, expected: [u32; 4], which: &[usize]) -> Verdict {
    let case = given(format!(
        "{}, {moments} fp32 numbers of the optimizer",
        named(format)
    ));
    let got = (answer.bytes_per_parameter)(format, moments);
    let got = [got.weight, got.gradient, got.master, got.optimizer];
    let of = |bytes: [u32; 4]| which.iter().map(|&i| bytes[i]).collect::<Vec<u32>>();
    let names: Vec<&str> = which.iter().map(|&i| NAMES[i]).collect();
    case.close(&format!("bytes of {}", names.join(", ")), &of(got), &of(expected))
}

pub fn stores_16_bits_in_2_bytes(answer: &Lesson06) -> Verdict {
    for format in [FP16, BF16, FP16.with(Overflow::Saturate)] {
        check(answer, format, 2, [2, 2, 4, 8], &[0, 1])?;
    }
    Ok(())
}

pub fn stores_tf32_as_fp32(answer: &Lesson06) -> Verdict {
    check(answer, TF32, 2, [4, 4, 0, 8], &[0, 1])?;
    check(answer, TF32.with(Overflow::Saturate), 2, [4, 4, 0, 8], &[0, 1])
}

pub fn stores_8_bits_in_1_byte(answer: &Lesson06) -> Verdict {
    for format in [FP8_E4M3, FP8_E5M2, FP8_E4M3.with(Overflow::Saturate)] {
        check(answer, format, 2, [1, 1, 4, 8], &[0, 1])?;
    }
    Ok(())
}

pub fn stores_fp32_in_4_bytes(answer: &Lesson06) -> Verdict {
    check(answer, FP32, 2, [4, 4, 0, 8], &[0, 1])?;
    check(answer, FP32.with(Overflow::Saturate), 2, [4, 4, 0, 8], &[0, 1])
}

pub fn has_masters_only_in_low_precision(answer: &Lesson06) -> Verdict {
    // All at once: a master that is missing in 8 bits only is not one that is missing.
    let saturating = [FP16, FP8_E4M3].map(|f| f.with(Overflow::Saturate));
    let low = [BF16, FP16, FP8_E4M3, FP8_E5M2, saturating[0], saturating[1]];
    let full = [
        FP32,
        TF32,
        FP32.with(Overflow::Saturate),
        TF32.with(Overflow::Saturate),
    ];
    for moments in [2, 1, 0, draw().whole(3, 9) as u32] {
        for (formats, expected) in [(&low[..], 4u32), (&full[..], 0)] {
            let names: Vec<String> = formats.iter().map(|&f| named(f)).collect();
            let case = given(format!(
                "each of {}, {moments} fp32 numbers of the optimizer",
                names.join(", ")
            ));
            let masters = formats
                .iter()
                .map(|&f| (answer.bytes_per_parameter)(f, moments).master);
            let got: Vec<u32> = masters.collect();
            case.close("bytes of master in each", &got, &vec![expected; formats.len()])?;
        }
    }
    Ok(())
}

pub fn counts_the_optimizer_state(answer: &Lesson06) -> Verdict {
    let moments = draw().whole(3, 90) as u32;
    for format in [FP32, BF16, TF32, FP8_E5M2] {
        for moments in [0, 1, moments, 2, 3] {
            check(answer, format, moments, [0, 0, 0, 4 * moments], &[3])?;
        }
    }
    Ok(())
}
