use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};
use grader::{Values, Verdict, draw, given};

use crate::Lesson06;

const FORMATS: [Format; 5] = [FP16, BF16, TF32, FP8_E4M3, FP8_E5M2];

/// Exact: a rounded number is right or wrong.
fn exactly(answer: &Lesson06, x: f32, format: Format, expected: f64) -> Verdict {
    let got = f64::from((answer.round_to)(x, format));
    let case = given(format!("x = {x:e}, {}{}", format.name, saturating(format)));
    let exact = |v| Values::tensor(vec![v], &[], "integer");
    case.close("rounded", exact(got), exact(expected))
}

fn saturating(format: Format) -> &'static str {
    if format.overflow == Overflow::Saturate {
        ", saturating"
    } else {
        ""
    }
}

/// The two neighbours of a positive x, and the lower one's number on the grid.
fn neighbours(x: f64, format: Format) -> (f64, f64, f64) {
    let mut exponent = 127;
    while 2f64.powi(exponent) > x && exponent > format.least_exponent() {
        exponent -= 1;
    }
    let spacing = 2f64.powi(exponent - format.mantissa as i32);
    let place = (x / spacing).floor();
    (place * spacing, (place + 1.0) * spacing, place)
}

fn nearest(x: f64, format: Format) -> f64 {
    let (low, high, place) = neighbours(x.abs(), format);
    let (down, up) = (x.abs() - low, high - x.abs());
    let even = place % 2.0 == 0.0;
    let size = if down < up || (down == up && even) {
        low
    } else {
        high
    };
    size.copysign(x)
}

pub fn rounds_to_the_nearest(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in FORMATS {
        for _ in 0..6 {
            let x = (draw.number(1.0, 2.0) * 2f64.powi(draw.whole(0, 10) as i32 - 5)) as f32;
            let x = if draw.whole(0, 1) == 0 { x } else { -x };
            exactly(answer, x, format, nearest(f64::from(x), format))?;
        }
    }
    // 2^24 - 1: its logarithm in f32 is 24.
    exactly(answer, 16_777_215.0, FP32, 16_777_215.0)
}

pub fn rounds_ties_to_even(answer: &Lesson06) -> Verdict {
    exactly(answer, -2051.0, FP16, -2052.0)?;
    exactly(answer, 2049.0, FP16, 2048.0)?;
    exactly(answer, 2051.0, FP16, 2052.0)?;
    let mut draw = draw();
    for format in FORMATS {
        for odd in [0, 1] {
            // Half way between two neighbours of 2^m and 2^(m+1), the lower one even or odd.
            let places = 1 << format.mantissa;
            let place = (places + 2 * draw.whole(0, places / 2 - 1) + odd) as f64;
            let x = (place + 0.5) * 2f64.powi(-(draw.whole(1, 3) as i32) - format.mantissa as i32);
            exactly(answer, -x as f32, format, nearest(-x, format))?;
        }
    }
    Ok(())
}

pub fn rounds_up_to_the_next_power_of_two(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in FORMATS {
        let power = 2f64.powi(draw.whole(0, 6) as i32 - 3);
        let x = power * (2.0 - draw.number(0.1, 0.45) * format.epsilon());
        exactly(answer, x as f32, format, 2.0 * power)?;
    }
    Ok(())
}

pub fn keeps_subnormal_numbers(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in [FP16, FP8_E4M3, FP8_E5M2] {
        let least = format.least();
        exactly(answer, (3.0 * least) as f32, format, 3.0 * least)?;
        for times in [
            draw.number(0.55, 0.95),
            draw.number(0.1, 0.45),
            draw.number(1.1, 3.4),
        ] {
            let x = (times * least) as f32;
            exactly(answer, x, format, nearest(f64::from(x), format))?;
        }
        // The least is even or odd as others are: half of it is as near to 0, which is even.
        exactly(answer, (least / 2.0) as f32, format, 0.0)?;
        let x = (draw.number(1.3, 1.9) * least * 2f64.powi(format.mantissa as i32 - 1)) as f32;
        exactly(answer, x, format, nearest(f64::from(x), format))?;
    }
    Ok(())
}

pub fn overflows_as_its_format_says(answer: &Lesson06) -> Verdict {
    let times = draw().number(1.2, 30.0);
    let far = |format: Format| (-times * format.max) as f32;
    exactly(answer, far(FP16), FP16, f64::NEG_INFINITY)?;
    exactly(answer, far(FP8_E5M2), FP8_E5M2, f64::NEG_INFINITY)?;
    exactly(answer, far(FP8_E4M3), FP8_E4M3, f64::NAN)?;
    let kept = FP8_E4M3.with(Overflow::Saturate);
    exactly(answer, far(FP8_E4M3), kept, -448.0)
}

pub fn overflows_after_rounding(answer: &Lesson06) -> Verdict {
    // fp16's greatest is 65504, the next would be 65536; all under 65520 is nearer to the greatest.
    let x = draw().number(65505.0, 65519.5) as f32;
    exactly(answer, x, FP16, 65504.0)?;
    exactly(answer, 65520.0, FP16, f64::INFINITY)?;
    exactly(answer, 463.0, FP8_E4M3, 448.0)?;
    exactly(answer, 465.0, FP8_E4M3, f64::NAN)
}

pub fn preserves_nan_infinity_and_sign(answer: &Lesson06) -> Verdict {
    for format in FORMATS {
        exactly(answer, f32::NAN, format, f64::NAN)?;
    }
    exactly(answer, f32::NEG_INFINITY, BF16, f64::NEG_INFINITY)?;
    exactly(answer, f32::INFINITY, FP8_E4M3.with(Overflow::Saturate), 448.0)?;
    for x in [-0.0, -1e-12] {
        let got = (answer.round_to)(x, FP16);
        given(format!("x = {x:e}, fp16")).require(
            "a zero with the sign of x",
            got == 0.0 && got.is_sign_negative(),
            format!("{got:?}"),
        )?;
    }
    Ok(())
}
