use grader::{Verdict, draw, given};

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

pub fn moves_the_centroid_to_the_origin(answer: &Lesson02) -> Verdict {
    let points = cloud(&mut draw(), 5);
    let case = given(format!("points {points:?}")).at_scale(1.0);
    let got = run(answer, &points);
    let mean = [0, 1, 2].map(|a| (got.iter().map(|p| f64::from(p[a])).sum::<f64>() / 5.0) as f32);
    case.close("centroid of the result", mean.as_slice(), [0.0f32; 3].as_slice())
}

pub fn scales_the_farthest_point_to_1(answer: &Lesson02) -> Verdict {
    let points = cloud(&mut draw(), 4);
    let case = given(format!("points {points:?}"));
    let got = run(answer, &points);
    let lengths = got.iter().map(|p| norm(&p.map(f64::from)));
    let far = lengths.fold(0.0, f64::max) as f32;
    case.close("greatest distance from the origin", far, 1.0f32)
}

pub fn preserves_shape_and_orientation(answer: &Lesson02) -> Verdict {
    let points = cloud(&mut draw(), 5);
    let case = given(format!("points {points:?}")).at_scale(1.0);
    let expected: Vec<f64> = by_hand(&points).into_flattened();
    case.close(
        "points",
        places(&run(answer, &points)),
        super::expected(expected, &[5, 3]),
    )
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
    let case = case.at_scale(1.0);
    let expected: Vec<f64> = by_hand(&points).into_iter().take(4).flatten().collect();
    let got = run(answer, &points);
    case.close(
        "first four points",
        places(&got[..4]),
        super::expected(expected, &[4, 3]),
    )
}

pub fn accepts_identical_points(answer: &Lesson02) -> Verdict {
    let at = cloud(&mut draw(), 1)[0];
    for count in [1, 4] {
        let points = vec![at; count];
        let case = given(format!("{count} point(s), all at {at:?}"));
        case.close(
            "points",
            places(&run(answer, &points)),
            places(&vec![[0.0; 3]; count]),
        )?;
    }
    let case = given("a cloud without points");
    case.close("points of the result", run(answer, &[]).len(), 0usize)
}
