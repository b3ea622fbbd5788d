use candle_core::{Device, Tensor, Var};
use grader::{Draw, Verdict, draw, given};

use super::{Loss, expected, values};
use crate::Lesson02;

/// Clouds, points, channels.
type Sizes = [usize; 3];

/// The first point with the greatest value of each channel of each cloud.
fn firsts(x: &[f32], [clouds, points, channels]: Sizes) -> Vec<usize> {
    let mut firsts = Vec::new();
    for cloud in 0..clouds {
        for channel in 0..channels {
            let at = |p: usize| x[(cloud * points + p) * channels + channel];
            firsts.push((0..points).fold(0, |best, p| if at(p) > at(best) { p } else { best }));
        }
    }
    firsts
}

/// Where in `x` the greatest values stand, in the order of the result.
fn places(x: &[f32], sizes: Sizes) -> Vec<usize> {
    let [_, points, channels] = sizes;
    let firsts = firsts(x, sizes).into_iter().enumerate();
    firsts
        .map(|(i, p)| (i / channels * points + p) * channels + i % channels)
        .collect()
}

fn case(x: &[f32], sizes: Sizes) -> grader::Case {
    given(format!("x {sizes:?} {x:?}"))
}

fn check(answer: &Lesson02, x: &[f32], sizes: Sizes) -> Verdict {
    let case = case(x, sizes);
    let tensor = Tensor::from_slice(x, sizes.as_slice(), &Device::Cpu)?;
    let numbers = places(x, sizes).into_iter().map(|at| f64::from(x[at])).collect();
    case.close(
        "result",
        values(&(answer.max_points)(&tensor)?)?,
        expected(numbers, &[sizes[0], sizes[2]]),
    )
}

/// Numbers that all differ, some of the channels below 0 throughout.
fn distinct(draw: &mut Draw, sizes: Sizes) -> Vec<f32> {
    let channels = sizes[2];
    let numbers = draw.list(sizes.iter().product(), -0.4, 0.4);
    let one = |(i, x): (usize, f32)| x + (i % 7) as f32 * 0.0001 - if i % channels == 1 { 1.0 } else { 0.0 };
    numbers.into_iter().enumerate().map(one).collect()
}

pub fn takes_the_maximum_of_each_channel(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let sizes = [2, draw.whole(4, 5), 3];
    check(answer, &distinct(&mut draw, sizes), sizes)
}

pub fn does_not_depend_on_point_order(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    // The greatest of channel 0 first, of channel 1 last, of channel 2 in between: and so in every order.
    let sizes = [1, 4, 3];
    let x = distinct(&mut draw, sizes);
    for from in 0..4 {
        let rows = (0..4).map(|p| &x[(p + from) % 4 * 3..][..3]);
        check(answer, &rows.flatten().copied().collect::<Vec<_>>(), sizes)?;
    }
    Ok(())
}

pub fn accepts_one_cloud_of_one_point(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for sizes in [[1, 1, 3], [3, 1, 2], [1, 3, 1]] {
        check(answer, &distinct(&mut draw, sizes), sizes)?;
    }
    Ok(())
}

fn check_gradient(answer: &Lesson02, draw: &mut Draw, x: &[f32], sizes: Sizes) -> Verdict {
    let case = case(x, sizes);
    let var = Var::from_slice(x, sizes.as_slice(), &Device::Cpu)?;
    let loss = Loss::new(draw, &[sizes[0], sizes[2]]);
    let mut gradient = vec![0.0; x.len()];
    for (weight, at) in loss.weights.iter().zip(places(x, sizes)) {
        gradient[at] = *weight;
    }
    loss.check(
        &case,
        "gradient of x",
        &(answer.max_points)(&var)?,
        &var,
        gradient,
    )
}

pub fn sends_the_gradient_to_the_maximum(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let sizes = [2, draw.whole(4, 5), 3];
    let x = distinct(&mut draw, sizes);
    check_gradient(answer, &mut draw, &x, sizes)
}

pub fn sends_the_gradient_to_the_first_of_equal_points(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let sizes: Sizes = [2, 5, 3];
    let mut x = distinct(&mut draw, sizes);
    // In each cloud a point that is greatest in all channels, a second and a third time.
    for cloud in 0..2 {
        let top = draw.list(3, 0.6, 0.9);
        let first = draw.whole(0, 2);
        for p in [first, first + 1, 4] {
            x[(cloud * 5 + p) * 3..][..3].copy_from_slice(&top);
        }
    }
    check_gradient(answer, &mut draw, &x, sizes)
}
