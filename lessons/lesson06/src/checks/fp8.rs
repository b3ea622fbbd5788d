use canopy::precision::{FP8_E4M3, FP8_E5M2, Format};
use grader::{Verdict, draw, given};

use crate::Lesson06;

const FORMATS: [Format; 2] = [FP8_E4M3, FP8_E5M2];

/// The power by halving or doubling until it fits and no more does.
fn power(amax: f64, format: Format) -> i32 {
    let mut e = 0;
    while amax * 2f64.powi(e) > format.max {
        e -= 1;
    }
    while amax * 2f64.powi(e + 1) <= format.max {
        e += 1;
    }
    e
}

fn check(answer: &Lesson06, amax: f32, format: Format, margin: u32) -> Verdict {
    let got = (answer.scale_for)(amax, format, margin);
    let expected = 2f64.powi(power(f64::from(amax), format) - margin as i32);
    let case = given(format!("amax {amax:e}, {}, margin {margin}", format.name));
    case.close(
        "factor, over what it should be",
        (f64::from(got) / expected) as f32,
        1f32,
    )
}

pub fn uses_the_range_of_the_format(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    check(answer, 1.0, FP8_E4M3, 0)?;
    check(answer, 1.5, FP8_E4M3, 0)?;
    for format in FORMATS {
        for _ in 0..4 {
            let amax = draw.number(1.0, 9.9) * 10f64.powi(draw.whole(0, 12) as i32 - 8);
            check(answer, amax as f32, format, 0)?;
        }
    }
    Ok(())
}

pub fn is_a_power_of_two(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for format in FORMATS {
        let amax = draw.number(0.001, 70.0) as f32;
        let got = (answer.scale_for)(amax, format, 0);
        let case = given(format!("amax {amax}, {}, margin 0", format.name));
        let is = got > 0.0 && f64::from(got).log2().fract() == 0.0;
        case.require("the factor is a power of two", is, format!("{got}"))?;
    }
    Ok(())
}

pub fn never_overflows(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // Just above and just at a power of two times the greatest.
    for format in FORMATS {
        let at = format.max * 2f64.powi(draw.whole(0, 20) as i32 - 10);
        check(answer, at as f32, format, 0)?;
        check(answer, (at * draw.number(1.5, 1.9)) as f32, format, 0)?;
        check(answer, (at * draw.number(1.01, 1.3)) as f32, format, 0)?;
        // The next number of f32: so near that a logarithm in f32 is a whole number.
        check(answer, (format.max as f32 / 256.0).next_up(), format, 0)?;
    }
    Ok(())
}

pub fn applies_the_margin(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for margin in 1..4 {
        let amax = draw.number(0.01, 100.0) as f32;
        check(answer, amax, FP8_E4M3, margin)?;
    }
    Ok(())
}

pub fn is_one_for_zero_inf_and_nan(answer: &Lesson06) -> Verdict {
    for amax in [0.0, f32::INFINITY, f32::NAN] {
        for margin in [0, 2] {
            let got = (answer.scale_for)(amax, FP8_E5M2, margin);
            given(format!("amax {amax}, margin {margin}")).close("factor", got, 1f32)?;
        }
    }
    Ok(())
}

pub fn stays_a_normal_f32(answer: &Lesson06) -> Verdict {
    let tiny = draw().number(1.0, 9.0) as f32 * 1e-40;
    let got = (answer.scale_for)(tiny, FP8_E5M2, 0);
    let case = given(format!("amax {tiny:e}, {}, margin 0", FP8_E5M2.name));
    case.close(
        "factor over 2^127",
        (f64::from(got) / 2f64.powi(127)) as f32,
        1f32,
    )?;
    let got = (answer.scale_for)(3e38, FP8_E4M3, 9);
    let case = given("amax 3e38, fp8 e4m3, margin 9");
    case.close(
        "factor over 2^-126",
        (f64::from(got) / 2f64.powi(-126)) as f32,
        1f32,
    )
}
