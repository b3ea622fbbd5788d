use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};
use grader::{Values, Verdict, draw, given};

use crate::Lesson06;

const FORMATS: [Format; 4] = [FP8_E4M3, FP8_E5M2, FP8_E4M3.with(Overflow::Saturate), FP16];

/// The factor, its exponent found by halving or doubling until amax fits and no more does.
fn factor(amax: f32, format: Format, margin: u32) -> f32 {
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    let amax = f64::from(amax);
    let mut e = 0;
    while amax * 2f64.powi(e) > format.max {
        e -= 1;
    }
    while amax * 2f64.powi(e + 1) <= format.max {
        e += 1;
    }
    2f64.powi((e - margin as i32).clamp(-126, 127)) as f32
}

/// Several at once: two mistakes that agree in one of them rarely agree in all. Relative to the expected factors, because
/// an absolute tolerance would accept 0 for a small one.
fn all(answer: &Lesson06, list: &[f32], format: Format, margin: u32) -> Verdict {
    let text: Vec<String> = list.iter().map(|&a| shown(a)).collect();
    let several = if list.len() > 1 { "each of " } else { "" };
    let case = given(format!(
        "amax {several}{}, {}, margin {margin}",
        text.join(", "),
        format.name
    ));
    let got: Vec<f32> = list
        .iter()
        .map(|&a| (answer.scale_for)(a, format, margin))
        .collect();
    let expected: Vec<f32> = list.iter().map(|&a| factor(a, format, margin)).collect();
    let near = |(g, e): (&f32, &f32)| (f64::from(*g) / f64::from(*e) - 1.0).abs() < 1e-6;
    if got.iter().zip(&expected).all(near) {
        return Ok(());
    }
    if expected.iter().all(|e| (0.01..1e6).contains(e)) {
        return case.close("factor", &got, &expected);
    }
    // Exact: with a tolerance, an infinite logarithm would be near to every number.
    let log = |list: &[f32]| {
        let numbers = list.iter().map(|f| f64::from(*f).log2()).collect();
        Values::tensor(numbers, &[list.len()], "integer")
    };
    case.close("log2 of the factor", log(&got), log(&expected))
}

fn shown(x: f32) -> String {
    if x == 0.0 || !x.is_finite() || (1e-3..1e6).contains(&x) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

pub fn uses_the_range_of_the_format(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    all(answer, &[3.0, 1.0, 1.9, 2.0, 0.4], FP8_E4M3, 0)?;
    all(answer, &[3.0, 1.0, 1.9, 2.0, 0.4], FP8_E5M2, 0)?;
    // Wider formats, whose range is that of f32.
    for format in [BF16, TF32, FP32] {
        all(answer, &[3.0, 1000.0, 1e20, 3e38], format, 0)?;
    }
    for format in FORMATS {
        let mut any =
            |least: f64| (draw.number(1.0, 9.9) * 10f64.powi(draw.whole(0, 4) as i32) * least) as f32;
        // Not so small that an answer might take them for 0: that is another check's.
        all(answer, &[any(1e-4), any(1e-3), any(1e-4), any(1e-3)], format, 0)?;
    }
    Ok(())
}

pub fn is_a_power_of_two(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in FORMATS {
        let amax = draw.number(0.001, 70.0) as f32;
        let case = given(format!("amax {amax}, {}, margin 0", format.name));
        let got = (answer.scale_for)(amax, format, 0);
        let is = got > 0.0 && f64::from(got).log2().fract() == 0.0;
        case.require("the factor is a power of two", is, format!("{got}"))?;
    }
    Ok(())
}

pub fn never_overflows(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // At the greatest, half of it, twice it, and between: exponents of 0, above and below.
    for format in FORMATS {
        let most = format.max as f32;
        all(
            answer,
            &[most, 1.2 * most, 2.0 * most, 3.0 * most, 0.5 * most],
            format,
            0,
        )?;
        let at = format.max * 2f64.powi(draw.whole(0, 20) as i32 - 10);
        let above = [1.0, draw.number(1.5, 1.9), draw.number(1.01, 1.3)];
        all(answer, &above.map(|times| (at * times) as f32), format, 0)?;
        // The next number of f32: so near that a logarithm in f32 is a whole number.
        all(answer, &[(most / 256.0).next_up(), most / 256.0], format, 0)?;
    }
    Ok(())
}

pub fn applies_the_margin(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // 448 is 7 times a power of two: a slightly smaller number is not.
    all(answer, &[3.0, 7.0, 100.0], FP8_E4M3, 3)?;
    all(answer, &[3.0, 7.0, 100.0], FP8_E4M3, 1)?;
    // More than the exponent.
    all(answer, &[3.0, 300.0, 1000.0], FP8_E4M3, 9)?;
    for margin in [2, draw.whole(4, 12) as u32] {
        let any = [0.01, 1.0, 100.0].map(|least| (least * draw.number(1.0, 9.0)) as f32);
        all(answer, &any, FP8_E5M2, margin)?;
    }
    Ok(())
}

pub fn is_one_for_zero_inf_and_nan(answer: &Lesson06) -> Verdict {
    for format in FORMATS {
        // Any limit below which amax counts as 0 gives the same.
        all(answer, &[1e-20, 1e-25, 1e-30], format, 0)?;
        for margin in [0, 2] {
            for amax in [0.0, f32::INFINITY, f32::NAN] {
                let case = given(format!("amax {amax}, {}, margin {margin}", format.name));
                let got = (answer.scale_for)(amax, format, margin);
                case.require("a factor of 1", got == 1.0, format!("{got:e}"))?;
            }
        }
    }
    Ok(())
}

pub fn stays_a_normal_f32(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let tiny = draw.number(1.0, 9.0) as f32 * 1e-40;
    for format in FORMATS {
        all(answer, &[tiny], format, 0)?;
        // The exponent is reduced before it is clamped.
        all(answer, &[tiny, f32::from_bits(1), f32::MIN_POSITIVE], format, 40)?;
        all(answer, &[1e-30, 1.0, 3e38], format, draw.whole(400, 1000) as u32)?;
        all(answer, &[3e38, f32::MAX], format, 20)?;
    }
    Ok(())
}
