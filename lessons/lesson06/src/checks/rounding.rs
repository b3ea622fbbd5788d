use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};
use grader::{Values, Verdict, draw, given};

use crate::Lesson06;

const FORMATS: [Format; 5] = [FP16, BF16, TF32, FP8_E4M3, FP8_E5M2];

/// Exact: a rounded number is right or wrong.
fn exactly(answer: &Lesson06, x: f32, format: Format, expected: f64) -> Verdict {
    let case = given(format!("x = {}, {}", shown(x), named(format)));
    let got = f64::from((answer.round_to)(x, format));
    let exact = |v| Values::tensor(vec![v], &[], "integer");
    case.close("rounded", exact(got), exact(expected))
}

/// Several numbers at once: two mistakes that agree in one of them rarely agree in all.
fn all(answer: &Lesson06, list: &[f32], format: Format) -> Verdict {
    let text: Vec<String> = list.iter().map(|&x| shown(x)).collect();
    let case = given(format!("each of {}, {}", text.join(", "), named(format)));
    let exact = |numbers| Values::tensor(numbers, &[list.len()], "integer");
    let got = list.iter().map(|&x| f64::from((answer.round_to)(x, format)));
    let expected = list.iter().map(|&x| rounded(f64::from(x), format));
    case.close("rounded", exact(got.collect()), exact(expected.collect()))
}

fn shown(x: f32) -> String {
    let size = x.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

fn named(format: Format) -> String {
    let kind = match format.overflow {
        Overflow::Saturate => ", saturating",
        Overflow::Nan if format.name != FP8_E4M3.name => ", overflow to NaN",
        Overflow::Infinity if format.name == FP8_E4M3.name => ", overflow to infinity",
        _ => "",
    };
    format!("{}{kind}", format.name)
}

/// The two neighbours of a positive x, and the lower one's number on the grid.
fn neighbours(x: f64, format: Format) -> (f64, f64, f64) {
    let mut exponent = format.least_exponent();
    while 2f64.powi(exponent + 1) <= x {
        exponent += 1;
    }
    let spacing = 2f64.powi(exponent - format.mantissa as i32);
    let place = (x / spacing).floor();
    (place * spacing, (place + 1.0) * spacing, place)
}

/// The expected result for a finite x.
fn rounded(x: f64, format: Format) -> f64 {
    let (low, high, place) = neighbours(x.abs(), format);
    let (down, up) = (x.abs() - low, high - x.abs());
    let even = place % 2.0 == 0.0;
    let size = if down < up || (down == up && even) {
        low
    } else {
        high
    };
    match format.overflow {
        _ if size <= format.max => size.copysign(x),
        Overflow::Infinity => f64::INFINITY.copysign(x),
        Overflow::Nan => f64::NAN,
        Overflow::Saturate => format.max.copysign(x),
    }
}

pub fn rounds_to_the_nearest(answer: &Lesson06) -> Verdict {
    let fixed = [1.0007, 1.0004, 3.3019, -3.3019, 100.04, -0.3001];
    all(answer, &fixed, FP16)?;
    // 2^24 - 1: its logarithm in f32 is 24.
    exactly(answer, 16_777_215.0, FP32, 16_777_215.0)?;
    let mut draw = draw();
    for format in FORMATS {
        let mut one = || {
            let x = draw.number(1.0, 2.0) * 2f64.powi(draw.whole(0, 10) as i32 - 5);
            if draw.whole(0, 1) == 0 {
                x as f32
            } else {
                -x as f32
            }
        };
        all(answer, &[one(), one(), one(), one()], format)?;
    }
    Ok(())
}

pub fn rounds_ties_to_even(answer: &Lesson06) -> Verdict {
    all(answer, &[2049.0, 2051.0, -2049.0, -2051.0], FP16)?;
    let mut draw = draw();
    for format in FORMATS {
        let mut ties = Vec::new();
        for (sign, odd) in [(1.0, 0), (1.0, 1), (-1.0, 0), (-1.0, 1)] {
            // Half way between two neighbours of 2^m and 2^(m+1), the lower one even or odd.
            let places = 1 << format.mantissa;
            let place = (places + 2 * draw.whole(0, places / 2 - 1) + odd) as f64;
            let x = (place + 0.5) * 2f64.powi(-(draw.whole(1, 3) as i32) - format.mantissa as i32);
            ties.push((sign * x) as f32);
        }
        all(answer, &ties, format)?;
        // Next to a tie is no tie.
        let beside: Vec<f32> = ties.iter().flat_map(|x| [x.next_up(), x.next_down()]).collect();
        all(answer, &beside[..4], format)?;
    }
    Ok(())
}

pub fn rounds_up_to_the_next_power_of_two(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in FORMATS {
        let power = 2f64.powi(draw.whole(0, 6) as i32 - 3);
        let x = power * (2.0 - draw.number(0.1, 0.45) * format.epsilon());
        exactly(answer, x as f32, format, 2.0 * power)?;
        all(answer, &[power as f32, (-2.0 * power) as f32], format)?;
    }
    Ok(())
}

pub fn keeps_subnormal_numbers(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in [FP16, FP8_E4M3, FP8_E5M2] {
        let least = format.least();
        // The smallest number is odd: half of it is as near to 0, which is even.
        let normal = least * 2f64.powi(format.mantissa as i32);
        // The last two are just below the smallest normal number.
        let [below, last] = [0.6, -0.8].map(|times| times * normal / least);
        let fixed = [3.0, 0.7, 0.3, 0.5, 1.5, 2.5, 2.3, -0.6, below, last];
        all(answer, &fixed.map(|times| (times * least) as f32), format)?;
        let below = [
            draw.number(0.55, 0.95),
            draw.number(0.1, 0.45),
            draw.number(1.1, 3.4),
        ];
        all(answer, &below.map(|times| (times * least) as f32), format)?;
        let near = [0.5 * draw.number(1.3, 1.9), draw.number(1.01, 1.9), 1.0];
        all(answer, &near.map(|times| (times * normal) as f32), format)?;
    }
    Ok(())
}

pub fn overflows_as_its_format_says(answer: &Lesson06) -> Verdict {
    let times = draw().number(1.2, 30.0);
    // In an overflow other than its own as well.
    for format in [
        FP16,
        FP8_E5M2,
        FP8_E4M3,
        FP8_E4M3.with(Overflow::Saturate),
        FP16.with(Overflow::Saturate),
        FP8_E5M2.with(Overflow::Nan),
        FP8_E4M3.with(Overflow::Infinity),
    ] {
        let most = format.max as f32;
        let far = (times * format.max) as f32;
        all(answer, &[most, -most, far, -far], format)?;
    }
    Ok(())
}

pub fn overflows_after_rounding(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // fp16's greatest is 65504, the next would be 65536; all under 65520 is nearer to the greatest.
    let near = draw.number(65505.0, 65519.5) as f32;
    all(answer, &[65519.0, 65520.0, near, -near, -65530.0], FP16)?;
    // 448 is even, as the next 480 is not: the tie does not overflow.
    all(answer, &[463.0, 464.0, 465.0, -463.0], FP8_E4M3)?;
    all(answer, &[61439.0, 61440.0, -61000.0], FP8_E5M2)?;
    all(
        answer,
        &[65519.0, 65520.0, -65530.0],
        FP16.with(Overflow::Saturate),
    )?;
    for format in [BF16, TF32, FP32] {
        for overflow in [Overflow::Infinity, Overflow::Saturate, Overflow::Nan] {
            let list = [format.max as f32, f32::MAX, -f32::MAX];
            all(answer, &list, format.with(overflow))?;
        }
    }
    Ok(())
}

pub fn preserves_nan_and_sign(answer: &Lesson06) -> Verdict {
    let every = [
        FP16,
        BF16,
        TF32,
        FP32,
        FP8_E4M3,
        FP8_E5M2,
        FP8_E4M3.with(Overflow::Saturate),
        FP16.with(Overflow::Saturate),
    ];
    for format in every {
        exactly(answer, f32::NAN, format, f64::NAN)?;
    }
    let signs = |list: &[f32], format| {
        let text: Vec<String> = list.iter().map(|&x| shown(x)).collect();
        let case = given(format!("each of {}, {}", text.join(", "), named(format)));
        let got: Vec<f32> = list.iter().map(|&x| (answer.round_to)(x, format)).collect();
        let right = list
            .iter()
            .zip(&got)
            .all(|(x, g)| *g == 0.0 && x.is_sign_negative() == g.is_sign_negative());
        case.require("zeros with the signs of these", right, format!("{got:?}"))
    };
    for format in [FP16, FP8_E4M3, FP8_E5M2] {
        signs(&[1e-12, -1e-12], format)?;
    }
    for format in every {
        signs(&[0.0, -0.0], format)?;
    }
    Ok(())
}

pub fn overflows_from_infinity(answer: &Lesson06) -> Verdict {
    let (plus, minus) = (f32::INFINITY, f32::NEG_INFINITY);
    for format in [FP16, BF16, TF32, FP8_E5M2, FP32] {
        exactly(answer, plus, format, f64::INFINITY)?;
        exactly(answer, minus, format, f64::NEG_INFINITY)?;
    }
    for format in [FP8_E4M3, FP16].map(|f| f.with(Overflow::Saturate)) {
        exactly(answer, plus, format, format.max)?;
        exactly(answer, minus, format, -format.max)?;
    }
    exactly(answer, minus, FP8_E4M3, f64::NAN)?;
    // Also in the formats whose greatest number is near that of f32, and in an f32 itself.
    for format in [FP32, BF16, TF32, FP8_E5M2] {
        let saturates = format.with(Overflow::Saturate);
        exactly(answer, plus, saturates, format.max)?;
        exactly(answer, minus, saturates, -format.max)?;
        exactly(answer, plus, format.with(Overflow::Nan), f64::NAN)?;
    }
    exactly(
        answer,
        minus,
        FP8_E4M3.with(Overflow::Infinity),
        f64::NEG_INFINITY,
    )
}

pub fn is_exact_for_every_exponent(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // The smallest numbers of f32, which are subnormal there: f32 cannot represent their spacing, f64 can.
    for format in [BF16, TF32, FP32] {
        let least = format.least();
        all(
            answer,
            &[3.0, 0.7, -2.3].map(|times| (times * least) as f32),
            format,
        )?;
    }
    for format in [FP16, BF16, TF32, FP8_E4M3, FP8_E5M2, FP32] {
        for exponent in 0..255u32 {
            let past = 23 - format.mantissa;
            let half = (1u32 << past) >> 1;
            let any = draw.below(3, 1 << 23);
            let odd = ((any[0] | (1 << past)) & (u32::MAX << past)) | half;
            let even = (any[1] & (u32::MAX << (past + 1))) | half;
            let mantissas = [
                0,
                1,
                (1 << 23) - 1,
                any[2],
                even,
                odd,
                odd - 1,
                (even + 1) % (1 << 23),
            ];
            let sign = any[2] << 31;
            for mantissa in mantissas {
                let x = f32::from_bits(sign | (exponent << 23) | (mantissa % (1 << 23)));
                let expected = rounded(f64::from(x), format);
                let got = f64::from((answer.round_to)(x, format));
                if got != expected && !(got.is_nan() && expected.is_nan()) {
                    return exactly(answer, x, format, expected);
                }
            }
        }
    }
    Ok(())
}
