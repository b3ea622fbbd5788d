use canopy::precision::{BF16, FP8_E4M3, FP16, FP32, Format, Product, TF32};
use grader::{Verdict, draw, given};

use crate::Lesson06;

fn asked(m: usize, n: usize, k: usize, format: Format) -> (Product, grader::Case) {
    let input = format!("m = {m}, n = {n}, k = {k} in {}", format.name);
    (Product { m, n, k }, given(input))
}

fn padded(answer: &Lesson06, [m, n, k]: [usize; 3], format: Format, expected: [usize; 3]) -> Verdict {
    let (product, case) = asked(m, n, k, format);
    let got = (answer.tensor_cores)(product, format).padded;
    case.close(
        "padded m, n and k",
        &vec![got.m, got.n, got.k],
        &expected.to_vec(),
    )
}

/// A number that is no multiple of 16, and the next multiples of 4, 8 and 16.
fn odd(draw: &mut grader::Draw) -> [usize; 4] {
    let sixteens = 16 * draw.whole(1, 60);
    let over = draw.whole(1, 3);
    [sixteens + over, sixteens + 4, sixteens + 8, sixteens + 16]
}

fn pads(answer: &Lesson06, format: Format, which: usize) -> Verdict {
    let sides = [odd(&mut draw()), [5, 8, 8, 16], [3, 4, 8, 16]];
    for turn in 0..3 {
        let side = |i: usize, which: usize| sides[(i + turn) % 3][which];
        let of = |which| [side(0, which), side(1, which), side(2, which)];
        padded(answer, of(0), format, of(which))?;
    }
    Ok(())
}

pub fn pads_16_bit_sides_to_multiples_of_8(answer: &Lesson06) -> Verdict {
    pads(answer, BF16, 2)?;
    pads(answer, FP16, 2)
}

pub fn pads_by_the_width_of_the_format(answer: &Lesson06) -> Verdict {
    pads(answer, TF32, 1)?;
    pads(answer, FP32, 1)?;
    pads(answer, FP8_E4M3, 3)
}

pub fn leaves_aligned_sides_unchanged(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let sides = [0; 3].map(|_| 16 * draw.whole(1, 90));
    for format in [TF32, BF16, FP8_E4M3] {
        padded(answer, sides, format, sides)?;
    }
    padded(answer, [8, 24, 40], FP16, [8, 24, 40])
}

pub fn supports_all_formats_but_fp32(answer: &Lesson06) -> Verdict {
    let side = 8 * draw().whole(1, 50);
    for format in [TF32, BF16, FP16, FP8_E4M3, FP32] {
        let (product, case) = asked(side, 256, 64, format);
        let (got, expected) = ((answer.tensor_cores)(product, format).served, format != FP32);
        case.require(&format!("served: {expected}"), got == expected, got.to_string())?;
    }
    Ok(())
}

pub fn is_worth_it_if_every_side_is_at_least_128(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let (large, small) = (draw.whole(129, 4000), draw.whole(1, 120));
    for (m, n, k) in [
        (large, large, small),
        (small, large, large),
        (large, 127, large),
        (128, 128, 128),
        (large, 128, large),
        (127, large, large),
        (large, large, 127),
    ] {
        let (product, case) = asked(m, n, k, BF16);
        let (got, expected) = ((answer.tensor_cores)(product, BF16).worth, m.min(n).min(k) >= 128);
        case.require(&format!("worth: {expected}"), got == expected, got.to_string())?;
    }
    Ok(())
}
