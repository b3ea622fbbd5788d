//! 2.1: normalise to the unit sphere.

use grader::{Check, Draw, Mistake, Values, Verdict, given, mistakes, rows};

use crate::clouds::{Cloud, cloud, places};
use crate::{Lesson02, REFERENCE, answers};

fn compare(answer: &Lesson02, points: &Cloud, what: &str, fact: fn(&Cloud) -> Values) -> Verdict {
    let shown = &points[..points.len().min(8)];
    let of = |lesson: &Lesson02| {
        let mut points = points.clone();
        (lesson.normalise)(&mut points);
        fact(&points)
    };
    let case = given(format!("{} points (here at most 8): {shown:?}", points.len()));
    case.at_scale(1.0).close(what, of(answer), of(&REFERENCE))
}

fn centroid(answer: &Lesson02, points: Cloud) -> Verdict {
    compare(answer, &points, "centroid of the result", |got| {
        let sums = (0..3).map(|a| got.iter().map(|p| f64::from(p[a])).sum::<f64>());
        // Rounded, because what f32 leaves of the mean is shown as 0.
        let mean = |sum: f64| (1e4 * sum / got.len() as f64).round() / 1e4 + 0.0;
        Values::tensor(sums.map(mean).collect(), &[3], "f32")
    })
}

fn distance(answer: &Lesson02, points: Cloud) -> Verdict {
    compare(answer, &points, "greatest distance from the origin", |got| {
        let size = |p: &[f32; 3]| p.iter().map(|c| c * c).sum::<f32>().sqrt();
        got.iter().map(size).fold(0.0, f32::max).into()
    })
}

fn result(answer: &Lesson02, points: Cloud) -> Verdict {
    compare(answer, &points, "points", |got| places(got))
}

/// Smaller than the unit sphere.
fn small(d: &mut Draw) -> Cloud {
    d.list(12, 0.1, 0.5).as_chunks::<3>().0.to_vec()
}

/// Four points, millimetres apart and 700 to 1000 m away, in steps of f32. The sum of each axis is one step more than
/// a multiple of 4, so that neither it nor the mean is a number of f32.
fn far_and_small(d: &mut Draw) -> Cloud {
    let at = [(); 3].map(|()| d.whole(700, 1000) as f64);
    let mut axis = |at: f64, i: usize| at + (4 * d.whole(1, 14) + i / 3) as f64 / 16384.0;
    (0..4).map(|i| at.map(|at| axis(at, i) as f32)).collect()
}

fn identical(d: &mut Draw, counts: &[usize]) -> Vec<Cloud> {
    let at = [(); 3].map(|()| d.list(1, 100.0, 900.0)[0]);
    counts.iter().map(|&count| vec![at; count]).collect()
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.1";
    by centroid {
        moves_the_centroid_to_the_origin: "the centroid to the origin",
            "Subtract from each axis its mean, the sum divided by the number of points. Then scale all alike." =>
            |d| vec![cloud(d, 5)];
    }
    by distance {
        scales_the_farthest_point_to_1: "the farthest point is at distance 1",
            "Divide all axes by the greatest distance from the centroid, √(x² + y² + z²), also if it is below 1." =>
            |d| vec![cloud(d, 4), small(d)];
    }
    by result {
        preserves_shape_and_orientation: "scales all axes alike",
            "Divide every coordinate of every point by the same number; neither rotate nor sort the points." => |d| {
            // The last point is the farthest.
            let mut tall = cloud(d, 5);
            tall[4][2] = 30.0;
            let flat = cloud(d, 7).into_iter().map(|[x, y, _]| [x, y, 4.5]).collect();
            vec![tall, flat]
        };
        subtracts_in_f64: "Sum, divide and subtract in f64",
            "Sum, divide and subtract in f64, and only then round to f32." => |d| vec![far_and_small(d)];
        accepts_identical_points: "Identical points end at the origin",
            "Identical points go to the origin: divide the sum by n, once, and not by the distance, 0." =>
            |d| identical(d, &[4, 1, 7, 10, 12, 49, 100]);
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.1" normalise;
    1 "The cloud is scaled, but not moved.";
    2 "The sum or the centroid is rounded to f32: sum, divide and subtract in f64, and round the difference.";
    3 "Each point is divided by n, and rounded, before it is added: the mean of identical points is another.";
    4 "The distances are measured before the cloud is moved; measure them from the centroid.";
    5 "The greatest coordinate is used as the greatest distance, which is √(x² + y² + z²).";
    6 "The root is missing: the cloud is scaled by the square of the distance.";
    7 "The root mean square of the distances is scaled to 1; the greatest distance should be 1.";
    8 "If all points are identical, this divides by 0.";
};
