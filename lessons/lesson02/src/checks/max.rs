use grader::{Case, Draw, Verdict, draw, given};

use super::{Input, Loss, values};
use crate::Lesson02;

/// Clouds, points, channels.
type Sizes = [usize; 3];

fn sizes(x: &Input) -> Sizes {
    [x.shape[0], x.shape[1], x.shape[2]]
}

/// Where in `x` the greatest values stand, of equal ones the first, in the order of the result.
fn places(x: &Input) -> Vec<usize> {
    let [clouds, points, channels] = sizes(x);
    let mut places = Vec::new();
    for cloud in 0..clouds {
        for channel in 0..channels {
            let place = |p: usize| (cloud * points + p) * channels + channel;
            let value = |p: usize| x.numbers[place(p)];
            let first = (0..points).fold(0, |best, p| if value(p) > value(best) { p } else { best });
            places.push(place(first));
        }
    }
    places
}

fn case(x: &Input) -> Case {
    given(x.text("x"))
}

fn check(answer: &Lesson02, x: &Input) -> Verdict {
    let case = case(x);
    let [clouds, _, channels] = sizes(x);
    let numbers = places(x).into_iter().map(|at| x.numbers[at]).collect();
    let var = x.var()?;
    let got = (answer.max_points)(&var)?;
    case.close("result", values(&got)?, x.expected(numbers, &[clouds, channels]))
}

/// Numbers that all differ, some of the channels below 0 throughout.
fn distinct(draw: &mut Draw, sizes: Sizes) -> Input {
    let channels = sizes[2];
    let numbers = draw.list(sizes.iter().product(), -0.4, 0.4);
    let one = |(i, x): (usize, f32)| x + (i % 7) as f32 * 0.0001 - if i % channels == 1 { 1.0 } else { 0.0 };
    let numbers: Vec<f32> = numbers.into_iter().enumerate().map(one).collect();
    Input::new(&numbers, &sizes)
}

pub fn takes_the_maximum_of_each_channel(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let sizes = [2, draw.whole(4, 5), 3];
    let x = distinct(&mut draw, sizes);
    // Values from −14 to 4; all of all channels below −1,000,000; and all tiny.
    for (factor, shift) in [(10.0, 0.0), (1e6, -3e6), (1e-6, 0.0)] {
        let mut x = x.clone();
        let far = |v: &mut f64| *v = f64::from((*v * factor + shift) as f32);
        x.numbers.iter_mut().for_each(far);
        check(answer, &x)?;
    }
    Ok(())
}

pub fn does_not_depend_on_point_order(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    // The greatest of channel 0 first, of channel 1 last, of channel 2 in between: and so in every order.
    let x = distinct(&mut draw, [1, 4, 3]);
    for from in 0..4 {
        let rows = (0..4).map(|p| &x.numbers[(p + from) % 4 * 3..][..3]);
        let numbers = rows.flatten().copied().collect();
        check(answer, &Input { numbers, ..x.clone() })?;
    }
    Ok(())
}

pub fn accepts_one_cloud_of_one_point(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for sizes in [[1, 1, 3], [3, 1, 2], [1, 3, 1], [2, 3, 1], [1, 1, 1]] {
        check(answer, &distinct(&mut draw, sizes))?;
    }
    Ok(())
}

fn check_gradient(answer: &Lesson02, draw: &mut Draw, x: &Input) -> Verdict {
    let case = case(x);
    let var = x.var()?;
    let loss = Loss::new(draw, &[x.shape[0], x.shape[2]]);
    let mut gradient = vec![0.0; x.numbers.len()];
    for (weight, at) in loss.weights.iter().zip(places(x)) {
        gradient[at] = *weight;
    }
    let result = (answer.max_points)(&var)?;
    loss.check(&case, "gradient of x", &result, &var, gradient)
}

pub fn sends_the_gradient_to_the_maximum(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let sizes = [2, draw.whole(4, 5), 3];
    let x = distinct(&mut draw, sizes);
    check_gradient(answer, &mut draw, &x)
}

pub fn sends_the_gradient_to_the_first_of_equal_points(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    // In each cloud a point that is greatest in all channels, a second and a third time.
    let mut x = distinct(&mut draw, [2, 5, 3]);
    for cloud in 0..2 {
        let top = draw.list(3, 0.6, 0.9);
        let first = draw.whole(0, 2);
        for p in [first, first + 1, 4] {
            let row = &mut x.numbers[(cloud * 5 + p) * 3..][..3];
            row.iter_mut().zip(&top).for_each(|(x, &t)| *x = f64::from(t));
        }
    }
    check_gradient(answer, &mut draw, &x)?;
    check(answer, &x)?;
    // All points of a cloud are equal, at 0, or below it.
    for value in [0.0, -0.25] {
        x.numbers.fill(value);
        check_gradient(answer, &mut draw, &x)?;
        check(answer, &x)?;
    }
    Ok(())
}

/// Each channel's greatest value at another point, and at two others, earlier and later, the next smaller number.
fn nearly_equal(draw: &mut Draw, next_below: fn(f64) -> f64) -> Input {
    let mut x = distinct(draw, [1, 4, 3]);
    for (channel, order) in [[0, 1, 2], [1, 0, 3], [3, 0, 1]].into_iter().enumerate() {
        let top = f64::from(draw.list(1, 0.6, 0.9)[0]);
        for (p, value) in order.into_iter().zip([top, next_below(top), next_below(top)]) {
            x.numbers[p * 3 + channel] = value;
        }
    }
    x
}

pub fn compares_values_exactly(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let x = nearly_equal(&mut draw, |v| f64::from((v as f32).next_down()));
    check_gradient(answer, &mut draw, &x)
}

pub fn computes_in_the_dtype_of_x(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    check(answer, &distinct(&mut draw, [2, 4, 3]).in_f64())?;
    let x = nearly_equal(&mut draw, f64::next_down);
    let dtype = candle_core::DType::F64;
    check_gradient(answer, &mut draw, &Input { dtype, ..x })
}
