//! 2.6: a turn about the trunk.

use std::f64::consts::{FRAC_PI_2, TAU};

use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::clouds::{Cloud, cloud, places};
use crate::{Lesson02, REFERENCE, answers};

/// Points and an angle.
type Input = (Cloud, f64);

fn compare(answer: &Lesson02, (points, angle): Input, facts: fn(&Cloud) -> Facts) -> Verdict {
    let of = |lesson: &Lesson02| {
        let mut points = points.clone();
        (lesson.turn)(&mut points, angle);
        facts(&points)
    };
    let case = given(format!("angle {angle:?}, points {points:?}"));
    case.at_scale(1.0).same(of(answer), of(&REFERENCE))
}

fn result(answer: &Lesson02, input: Input) -> Verdict {
    let facts = |points: &Cloud| Facts::default().values("points", places(points));
    compare(answer, input, facts)
}

/// Compares these exactly.
fn heights(answer: &Lesson02, input: Input) -> Verdict {
    let facts = |points: &Cloud| Facts::default().items("heights z", points.iter().map(|p| p[2]));
    compare(answer, input, facts)
}

/// Four points around the trunk, one in each quadrant.
fn around(d: &mut Draw) -> Cloud {
    let signs = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]];
    let of = |(p, [x, y]): ([f32; 3], [f32; 2])| [p[0] * x, (p[1].abs() + 0.1) * y, p[2]];
    cloud(d, 4).into_iter().zip(signs).map(of).collect()
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.6";
    by result {
        rotates_the_x_axis_to_the_y_axis: "from the x axis toward the y axis",
            "x′ = cos·x − sin·y, y′ = sin·x + cos·y, z′ = z for each point, from the old x and y, in radians." => |d| {
            let far = d.list(1, 1.0, 3.0)[0];
            let points = vec![[far, 0.0, 2.0], [0.0, 1.5 * far, 7.0]];
            [FRAC_PI_2, d.number(0.9, 1.3)].map(|angle| (points.clone(), angle)).to_vec()
        };
    }
    by heights {
        preserves_heights: "Heights do not change", "Leave z as it is, to the last digit." =>
            // By many angles: with one alone, a height may be rounded to itself.
            |d| (0..50).map(|_| (around(d), d.number(0.3, 1.2))).collect();
    }
    by result {
        rotates_by_any_angle: "by `angle` radians",
            "Take sine and cosine of `angle` as it is, negative or beyond a half turn: in every quadrant, each has its own sign." => |d| {
            let (points, a, turns) = (around(d), d.number(0.3, 1.2), d.whole(3, 9) as f64 * TAU);
            let angles = [a, a + FRAC_PI_2, a + 4.0, -a, -a - 2.0, a + turns, -a - turns, 0.0];
            let turned = angles.map(|angle| (points.clone(), angle));
            turned.into_iter().chain([(Vec::new(), a)]).collect()
        };
        takes_sine_and_cosine_in_f64: "Take sine and cosine in f64",
            "Take sine and cosine of the angle, in radians, in f64: f32, or a π with few digits, is wrong for large angles." => |d| {
            let points = around(d);
            // f32 has every second of the halves here, and none of the quarters.
            let angle = d.whole(4_200_000, 8_300_000) as f64 + 0.25;
            vec![(points.clone(), angle), (points, -angle)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.6" turn;
    1 "This rotates clockwise: the sine has the wrong sign.";
    2 "The angle is treated as degrees; it is in radians.";
    3 "The sign of the angle is ignored: a negative angle rotates clockwise.";
    4 "The angle is rounded to f32 before its sine is taken: a large angle loses its digits.";
    5 "Sine and cosine are swapped.";
    6 "The cloud does not change: copies of the points are rotated. Change the points themselves.";
    7 "x is overwritten before y is computed from it: both need the old x.";
    8 "Both sines have the same sign; one of them is negative.";
};
