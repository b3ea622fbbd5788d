use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, Product, TF32};
use grader::{Verdict, draw, given};

use crate::Lesson06;

const SATURATING: [Format; 4] = [
    FP16.with(Overflow::Saturate),
    FP8_E4M3.with(Overflow::Saturate),
    FP32.with(Overflow::Saturate),
    TF32.with(Overflow::Saturate),
];

fn named(format: Format) -> String {
    let saturates = format.overflow == Overflow::Saturate;
    format!("{}{}", format.name, if saturates { " (saturating)" } else { "" })
}

fn padded(answer: &Lesson06, [m, n, k]: [usize; 3], format: Format, expected: [usize; 3]) -> Verdict {
    let case = given(format!("m = {m}, n = {n}, k = {k} in {}", named(format)));
    let got = (answer.tensor_cores)(Product { m, n, k }, format).padded;
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
    // The last is a multiple of 8, and of 16 bytes in the wider formats.
    let sides = [odd(&mut draw()), [5, 8, 8, 16], [24, 24, 24, 32], [3, 4, 8, 16]];
    for turn in 0..4 {
        let side = |i: usize, which: usize| sides[(i + turn) % 4][which];
        let of = |which| [side(0, which), side(1, which), side(2, which)];
        padded(answer, of(0), format, of(which))?;
    }
    Ok(())
}

pub fn pads_16_bit_sides_to_multiples_of_8(answer: &Lesson06) -> Verdict {
    padded(answer, [200, 50, 3], BF16, [200, 56, 8])?;
    pads(answer, BF16, 2)?;
    pads(answer, FP16, 2)?;
    pads(answer, SATURATING[0], 2)
}

pub fn pads_by_the_width_of_the_format(answer: &Lesson06) -> Verdict {
    for (format, which) in [
        (FP8_E4M3, 3),
        (TF32, 1),
        (FP32, 1),
        (FP8_E5M2, 3),
        (SATURATING[1], 3),
        (SATURATING[2], 1),
        (SATURATING[3], 1),
    ] {
        pads(answer, format, which)?;
    }
    Ok(())
}

pub fn leaves_aligned_sides_unchanged(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let sides = [0; 3].map(|_| 16 * draw.whole(1, 90));
    for format in [TF32, BF16, FP8_E4M3, FP32] {
        padded(answer, sides, format, sides)?;
    }
    padded(answer, [8, 24, 40], FP16, [8, 24, 40])?;
    padded(answer, [4, 12, 20], TF32, [4, 12, 20])
}

pub fn supports_all_formats_but_fp32(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let formats = [
        TF32,
        BF16,
        FP16,
        FP8_E4M3,
        FP8_E5M2,
        FP32,
        SATURATING[0],
        SATURATING[1],
        SATURATING[2],
        SATURATING[3],
    ];
    let expected = formats.map(|f| usize::from(f.bits() < 32)).to_vec();
    let any = [draw.whole(129, 900), draw.whole(1, 120), draw.whole(1, 900)];
    // Multiples of 16 bytes in each format, worth it or not, and neither.
    for [m, n, k] in [[256, 256, 128], [32, 64, 16], [3, 5, 1], any] {
        let list = formats.map(named).join(", ");
        let case = given(format!("m = {m}, n = {n}, k = {k} in each of {list}"));
        let served = |f| usize::from((answer.tensor_cores)(Product { m, n, k }, f).served);
        case.close(
            "served in each (1 is true)",
            &formats.map(served).to_vec(),
            &expected,
        )?;
    }
    Ok(())
}

fn worth(answer: &Lesson06, products: &[[usize; 3]], format: Format) -> Verdict {
    let list: Vec<String> = products.iter().map(|[m, n, k]| format!("{m} {n} {k}")).collect();
    let case = given(format!(
        "m n k each of {}, in {}",
        list.join(" | "),
        named(format)
    ));
    let one = |&[m, n, k]: &[usize; 3]| usize::from((answer.tensor_cores)(Product { m, n, k }, format).worth);
    let got: Vec<usize> = products.iter().map(one).collect();
    let expected: Vec<usize> = products
        .iter()
        .map(|p| usize::from(p.iter().all(|&side| side >= 128)))
        .collect();
    case.close("worth of each (1 is true)", &got, &expected)
}

pub fn is_worth_it_if_every_side_is_at_least_128(answer: &Lesson06) -> Verdict {
    let fixed = [
        [200, 200, 200],
        [128, 128, 128],
        [127, 200, 200],
        [200, 127, 200],
        [200, 200, 127],
        [9000, 9000, 64],
        [200, 100, 60],
        [200, 200, 60],
    ];
    let mut draw = draw();
    let (large, small) = (draw.whole(129, 4000), draw.whole(1, 120));
    let drawn = [
        [large, large, small],
        [small, large, large],
        [large, small, large],
        [large, 128, large + 1],
        // Large sides that are no multiples of 128.
        [large | 1, 129, 200],
        [small, small, large],
        [small, small, small],
    ];
    for format in [BF16, FP8_E4M3, TF32, FP32, FP8_E5M2, FP16] {
        worth(answer, &fixed, format)?;
        worth(answer, &drawn, format)?;
    }
    Ok(())
}
