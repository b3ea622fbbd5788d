use candle_core::{Device, Result, Tensor};
use grader::{Draw, Verdict, draw, given};

use crate::Lesson02;

/// `[points, channels]`, and the points that survive, found one channel after another.
fn check(answer: &Lesson02, x: &[f32], points: usize, channels: usize) -> Verdict {
    compare(answer.survivors, x, points, channels)
}

fn compare(
    answer: impl Fn(&Tensor) -> Result<Vec<usize>>,
    x: &[f32],
    points: usize,
    channels: usize,
) -> Verdict {
    let case = given(format!("values [{points}, {channels}] {x:?}"));
    let at = |p: usize, c: usize| x[p * channels + c];
    let mut survive = vec![false; points];
    for c in 0..channels {
        let first = (0..points).fold(0, |best, p| if at(p, c) > at(best, c) { p } else { best });
        survive[first] |= at(first, c) > 0.0;
    }
    let expected: Vec<usize> = (0..points).filter(|&p| survive[p]).collect();
    let values = Tensor::from_slice(x, (points, channels), &Device::Cpu)?;
    case.close("indices", &answer(&values)?, &expected)
}

/// Values that all differ within a channel; `tops[c]` is the point of the greatest of channel c.
fn with_tops(draw: &mut Draw, points: usize, tops: &[usize]) -> Vec<f32> {
    let channels = tops.len();
    let mut x = draw.list(points * channels, 0.1, 0.6);
    for (c, &p) in tops.iter().enumerate() {
        x[p * channels + c] = draw.list(1, 0.9, 1.2)[0];
    }
    x
}

pub fn finds_the_maximum_of_every_channel(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    // In rising order and each once, and sorted below, so that only finding them counts.
    let answer = |values: &Tensor| {
        let mut points = (answer.survivors)(values)?;
        points.sort_unstable();
        Ok(points)
    };
    let mut x = with_tops(&mut draw, 5, &[1, 2, 4]);
    // Point 0 is the least of one channel and close to the greatest of another, and survives neither.
    (x[0], x[1]) = (0.05, 0.85);
    compare(answer, &x, 5, 3)?;
    compare(answer, &with_tops(&mut draw, 3, &[0, 2]), 3, 2)?;
    compare(answer, &with_tops(&mut draw, 1, &[0]), 1, 1)
}

pub fn lists_each_point_once_in_order(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let x = with_tops(&mut draw, 5, &[3, 1, 3, 4, 1, 0]);
    let case = given(format!("values [5, 6] {x:?}"));
    let values = Tensor::from_slice(&x, (5, 6), &Device::Cpu)?;
    let first = (answer.survivors)(&values)?;
    for _ in 0..8 {
        let same = (answer.survivors)(&values)? == first;
        case.require("indices", same, "another order in another call")?;
    }
    check(answer, &x, 5, 6)?;
    check(answer, &with_tops(&mut draw, 4, &[2, 2, 2]), 4, 3)?;
    // Indices of one, two and three digits.
    check(answer, &with_tops(&mut draw, 12, &[10, 2, 11]), 12, 3)?;
    check(answer, &with_tops(&mut draw, 300, &[270, 14, 299, 14]), 300, 4)
}

pub fn counts_the_first_of_equal_points(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let (first, channels) = (draw.whole(0, 2), 2);
    let mut x = with_tops(&mut draw, 6, &[first, first]);
    for again in [first + 1, 5] {
        x.copy_within(first * channels..(first + 1) * channels, again * channels);
    }
    check(answer, &x, 6, channels)?;
    // All points equal: the first has every maximum.
    let row = draw.list(3, 0.1, 0.9);
    check(answer, &row.repeat(4), 4, 3)
}

pub fn ignores_channels_that_are_zero(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let mut x = with_tops(&mut draw, 4, &[2, 1, 3]);
    (0..4).for_each(|p| x[p * 3 + 1] = 0.0);
    check(answer, &x, 4, 3)?;
    // Point 0 has the maximum of another channel; and channels are 0 for some points only.
    let mut x = with_tops(&mut draw, 4, &[0, 1, 3]);
    (0..4).for_each(|p| x[p * 3 + 1] = 0.0);
    for zero in [3, 6, 2, 8] {
        x[zero] = 0.0;
    }
    check(answer, &x, 4, 3)?;
    // Every value of points 0 and 2 is 0.
    let mut x = with_tops(&mut draw, 4, &[1, 3, 3]);
    x[..3].fill(0.0);
    x[6..9].fill(0.0);
    check(answer, &x, 4, 3)
}

pub fn counts_tiny_maxima(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let mut x = with_tops(&mut draw, 4, &[2, 1, 3]);
    for p in 0..4 {
        x[p * 3] *= 1e-30;
        x[p * 3 + 1] *= 1e-5;
    }
    check(answer, &x, 4, 3)
}

pub fn accepts_values_without_a_maximum(answer: &Lesson02) -> Verdict {
    let zeros = Tensor::zeros((3, 2), candle_core::DType::F32, &Device::Cpu)?;
    let case = given("values [3, 2], all of them 0");
    case.require("indices", (answer.survivors)(&zeros).is_ok(), "an error")?;
    check(answer, &[0.0; 6], 3, 2)?;
    check(answer, &[0.0], 1, 1)
}
