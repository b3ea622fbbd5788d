use grader::{Case, Draw, Verdict, draw, given};

use super::{cloud, places};
use crate::Lesson02;

/// What a normalised cloud is, in f64 from the first to the last.
fn by_hand(points: &[[f32; 3]]) -> Vec<[f64; 3]> {
    let n = points.len() as f64;
    let centre = [0, 1, 2].map(|a| points.iter().map(|p| f64::from(p[a])).sum::<f64>() / n);
    let moved: Vec<[f64; 3]> = points
        .iter()
        .map(|p| [0, 1, 2].map(|a| f64::from(p[a]) - centre[a]))
        .collect();
    let far = moved.iter().map(norm).fold(0.0, f64::max);
    let far = if far > 0.0 { far } else { 1.0 };
    moved.iter().map(|p| p.map(|c| c / far)).collect()
}

fn norm(p: &[f64; 3]) -> f64 {
    p.iter().map(|c| c * c).sum::<f64>().sqrt()
}

fn run(answer: &Lesson02, points: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let mut points = points.to_vec();
    (answer.normalise)(&mut points);
    points
}

fn case(points: &[[f32; 3]]) -> Case {
    given(format!("points {points:?}")).at_scale(1.0)
}

/// Compares the first points of a result.
fn close(case: &Case, points: &[[f32; 3]], got: &[[f32; 3]]) -> Verdict {
    let count = points.len().min(8);
    let what = match points.len() {
        0..=8 => "points",
        _ => "first eight points",
    };
    let expected: Vec<f64> = by_hand(points).into_iter().take(count).flatten().collect();
    let expected = grader::Values::tensor(expected, &[count, 3], "f32");
    case.close(what, places(&got[..count]), expected)
}

fn check(answer: &Lesson02, points: &[[f32; 3]]) -> Verdict {
    let case = case(points);
    close(&case, points, &run(answer, points))
}

/// Compares the points if the result lacks a property: whole points tell one mistake from another.
fn check_that(answer: &Lesson02, points: &[[f32; 3]], holds: impl Fn(&[[f64; 3]]) -> bool) -> Verdict {
    let case = case(points);
    let got = run(answer, points);
    let wide: Vec<[f64; 3]> = got.iter().map(|p| p.map(f64::from)).collect();
    if holds(&wide) {
        return Ok(());
    }
    close(&case, points, &got)
}

/// Fails if the result is right except for its size, which is between `least` and 1: the same finding, whatever was
/// added to the distance.
fn require_whole(answer: &Lesson02, points: &[[f32; 3]], least: f64) -> Verdict {
    let case = case(points);
    let got = run(answer, points);
    let far = got.iter().map(|p| norm(&p.map(f64::from))).fold(0.0, f64::max);
    if far < least || far > 1.0 - 2e-5 {
        return Ok(());
    }
    let whole = got.iter().map(|p| p.map(|c| (f64::from(c) / far) as f32));
    let small = close(&case, points, &whole.collect::<Vec<_>>()).is_ok();
    let what = "points in the right proportion, but the farthest is at a distance below 1";
    case.require("points", !small, what)
}

pub fn moves_the_centroid_to_the_origin(answer: &Lesson02) -> Verdict {
    let points = cloud(&mut draw(), 5);
    check_that(answer, &points, |got| {
        (0..3).all(|a| got.iter().map(|p| p[a]).sum::<f64>().abs() < 1e-5)
    })
}

pub fn scales_the_farthest_point_to_1(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let tall = cloud(&mut draw, 4);
    // Smaller than the sphere, and not about the origin.
    let small = draw.list(12, 0.1, 0.5).as_chunks::<3>().0.to_vec();
    require_whole(answer, &small, 0.99)?;
    for points in [tall, small] {
        check_that(answer, &points, |got| {
            (got.iter().map(norm).fold(0.0, f64::max) - 1.0).abs() < 2e-5
        })?;
    }
    Ok(())
}

pub fn preserves_shape_and_orientation(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    // The last point is the farthest.
    let mut points = cloud(&mut draw, 5);
    points[4][2] = 30.0;
    check(answer, &points)?;
    // Flat: all points at one height.
    let mut flat = cloud(&mut draw, 7);
    let height = flat[0][2];
    flat.iter_mut().for_each(|p| p[2] = height);
    check(answer, &flat)
}

/// Four points, millimetres apart and 700 to 1000 m away, between which f32 has 60 numbers. Their mean is between two of
/// them. A sum in f32 rounds it up, and a mean that is rounded to f32 is rounded down.
fn far_and_small(draw: &mut Draw) -> Vec<[f32; 3]> {
    const STEP: f64 = 1.0 / 16384.0;
    let mut points = vec![[0f32; 3]; 4];
    for a in 0..3 {
        let at = draw.whole(700, 1000) as f64;
        let [first, third, mut last] = [(); 3].map(|()| draw.whole(1, 14));
        last += (first + third + last + 1) % 2;
        let second = 4 * first - draw.whole(1, 3);
        let steps = [4 * first - second, second, 4 * third + 3, 4 * last + 3];
        (0..4).for_each(|i| points[i][a] = (at + steps[i] as f64 * STEP) as f32);
    }
    points
}

pub fn subtracts_in_f64(answer: &Lesson02) -> Verdict {
    check(answer, &far_and_small(&mut draw()))
}

pub fn stays_exact_far_from_the_origin(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let count = draw.whole(18_000, 22_000);
    let mut points = cloud(&mut draw, count);
    let away = [
        draw.whole(700, 900) as f32,
        draw.whole(900, 1000) as f32,
        draw.whole(500, 600) as f32,
    ];
    for p in &mut points {
        (0..3).for_each(|a| p[a] += away[a]);
    }
    let case = given(format!(
        "a cloud of {count} points, 3 by 2.5 by 12 m large, that lies at {away:?}"
    ));
    close(&case.at_scale(1.0), &points, &run(answer, &points))
}

pub fn scales_tiny_clouds(answer: &Lesson02) -> Verdict {
    let mut points = draw().list(12, -0.5, 0.5).as_chunks::<3>().0.to_vec();
    // Exactly as high as a cloud may be small.
    (points[0][2], points[1][2]) = (-0.5, 0.5);
    points.as_flattened_mut().iter_mut().for_each(|c| *c *= 1e-8);
    require_whole(answer, &points, 1e-7)?;
    check(answer, &points)
}

pub fn accepts_identical_points(answer: &Lesson02) -> Verdict {
    let at = draw().list(3, 100.0, 900.0);
    let at = [at[0], at[1], at[2]];
    let close = |case: &Case, count: usize| {
        let got = run(answer, &vec![at; count]);
        // The rest that rounding leaves points anywhere, so that its direction says nothing.
        let far = (norm(&got[0].map(f64::from)) - 1.0).abs() < 0.01;
        case.require("points", !far, "points at distance 1 from the origin")?;
        case.close("points", places(&got), places(&vec![[0.0; 3]; count]))
    };
    for count in [4, 1] {
        close(&given(format!("{count} point(s), all at {at:?}")), count)?;
    }
    let case = given(format!("7, 10, 12, 49 or 100 points, all at {at:?}"));
    [7, 10, 12, 49, 100]
        .into_iter()
        .try_for_each(|count| close(&case, count))
}

pub fn accepts_an_empty_cloud(answer: &Lesson02) -> Verdict {
    let case = given("a cloud without points");
    case.close("points of the result", run(answer, &[]).len(), 0usize)
}
