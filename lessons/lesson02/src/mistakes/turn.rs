//! Known wrong answers to exercise 2.6.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "This rotates clockwise: the sine has the wrong sign.",
        turn: |points, angle| (REFERENCE.turn)(points, -angle)),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The angle is treated as degrees; it is in radians.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.to_radians())),
    wrong!("2.6", preserves_distances_from_the_trunk, "x is overwritten before y is computed from it: both need the old x.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let x = cos * x - sin * y;
        [x, sin * x + cos * y, z]
    })),
    wrong!("2.6", preserves_distances_from_the_trunk, "Both sines have the same sign; one of them is negative.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x + sin * y, sin * x + cos * y, z])),
    wrong!("2.6", preserves_heights, "This rotates about the x axis: the tree falls over.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let [y, z, x] = right_turn([y, z, x], sin, cos);
        [x, y, z]
    })),
    wrong!("2.6", preserves_heights, "This rotates about the y axis: the tree falls over.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let [z, x, y] = right_turn([z, x, y], sin, cos);
        [x, y, z]
    })),
    wrong!("2.6", rotates_by_any_angle, "The cloud rotates about its own centroid; it should rotate about the z axis.",
    turn: |points, angle| {
        let [x, y, _] = mean(points);
        moved(points, [x, y, 0.0]);
        (REFERENCE.turn)(points, angle);
        moved(points, [-x, -y, 0.0]);
    }),
    wrong!("2.6", rotates_by_any_angle, "Each point rotates by another angle; the cloud should rotate as a whole.",
    turn: |points, angle| for (i, p) in points.iter_mut().enumerate() {
        (REFERENCE.turn)(std::slice::from_mut(p), angle * (i + 1) as f64);
    }),
    wrong!("2.6", rotates_by_any_angle, "The sign of the angle is ignored: a negative angle rotates clockwise.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.abs())),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "Sine and cosine are swapped.",
        turn: |points, angle| (REFERENCE.turn)(points, FRAC_PI_2 - angle)),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "Sine and cosine are swapped.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [sin * x - cos * y, cos * x + sin * y, z])),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "sin α = α and cos α = 1 are true for small angles only.",
        turn: |points, angle| points.iter_mut().for_each(|p| *p = right_turn(*p, angle as f32, 1.0))),
    wrong!("2.6", preserves_heights, "The height is lost; it stays as it is.",
        turn: |points, angle| turned(points, angle, |[x, y, _], sin, cos| [cos * x - sin * y, sin * x + cos * y, 0.0])),
    wrong!("2.6", preserves_heights, "The heights are measured from the lowest point; they stay as they are.",
    turn: |points, angle| {
        (REFERENCE.turn)(points, angle);
        let low = points.iter().map(|p| p[2]).fold(f32::MAX, f32::min);
        points.iter_mut().for_each(|p| p[2] -= low);
    }),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The cosine of y′ is negative, which mirrors the cloud; only the sine of x′ is.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x + sin * y, sin * x - cos * y, z])),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The cosine of y′ is negative, which mirrors the cloud; only the sine of x′ is.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x - sin * y, sin * x - cos * y, z])),
    wrong!("2.6", preserves_distances_from_the_trunk, "y is overwritten before x is computed from it: both need the old y.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let y = sin * x + cos * y;
        [cos * x - sin * y, y, z]
    })),
    wrong!("2.6", preserves_distances_from_the_trunk, "Both sines are negative; only the one in x′ is.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x - sin * y, cos * y - sin * x, z])),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The last point is left out.",
    turn: |points, angle| if let Some((_, others)) = points.split_last_mut() {
        (REFERENCE.turn)(others, angle);
    }),
    wrong!("2.6", rotates_by_any_angle, "The arctangent of y/x does not tell a point from the opposite one; `atan2` does.",
    turn: |points, angle| for p in points {
        let [x, y] = [p[0], p[1]].map(f64::from);
        let (far, at) = (x.hypot(y), (y / x).atan() + angle);
        *p = [(far * at.cos()) as f32, (far * at.sin()) as f32, p[2]];
    }),
    wrong!("2.6", rotates_by_any_angle, "The sine is the root of 1 − cos², which is never negative; take the sine of the angle.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.cos().acos())),
    wrong!("2.6", rotates_by_any_angle, "The cosine is the root of 1 − sin², which is never negative; take the cosine of the angle.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.sin().asin())),
    wrong!("2.6", rotates_by_any_angle, "The angle is reduced to half a turn; a whole turn is 2π.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % PI)),
    wrong!("2.6", rotates_by_any_angle, "The angle is reduced to half a turn; a whole turn is 2π.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.rem_euclid(PI))),
    wrong!("2.6", rotates_by_any_angle, "A negative angle does nothing; it rotates clockwise.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.max(0.0))),
    wrong!("2.6", rotates_by_any_angle, "The angle is cut off at a whole turn; it may be larger.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.clamp(-TAU, TAU))),
    wrong!("2.6", rotates_by_any_angle, "π has too few digits; use `std::f64::consts`, or take the sine of the angle as it is.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % ((TAU * 100.0).floor() / 100.0))),
    wrong!("2.6", rotates_by_any_angle, "π has too few digits; use `std::f64::consts`, or take the sine of the angle as it is.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.rem_euclid((TAU * 100.0).floor() / 100.0))),
    wrong!("2.6", takes_sine_and_cosine_in_f64, "The angle is reduced by 360; it is in radians, and a turn is 2π.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % 360.0)),
    wrong!("2.6", takes_sine_and_cosine_in_f64,
        "The angle is rounded to f32 before its sine is taken: a large angle loses its digits. Take sine and cosine in f64, then round.",
        turn: |points, angle| (REFERENCE.turn)(points, f64::from(angle as f32))),
    wrong!("2.6", takes_sine_and_cosine_in_f64,
        "The angle is rounded to f32 before its sine is taken: a large angle loses its digits. Take sine and cosine in f64, then round.",
        turn: |points, angle| (REFERENCE.turn)(points, f64::from(angle as f32 % std::f32::consts::TAU))),
    wrong!("2.6", takes_sine_and_cosine_in_f64,
        "The angle is rounded to f32 before its sine is taken: a large angle loses its digits. Take sine and cosine in f64, then round.",
        turn: |points, angle| (REFERENCE.turn)(points, f64::from((angle as f32).rem_euclid(std::f32::consts::TAU)))),
    wrong!("2.6", takes_sine_and_cosine_in_f64, "The point's own angle and `angle` are added in f32, which loses digits of a large angle; add them in f64.",
        turn: |points, angle| polar(points, |own| own + angle as f32)),
    wrong!("2.6", takes_sine_and_cosine_in_f64, "The point's own angle and `angle` are added in f32, which loses digits of a large angle; add them in f64.",
        turn: |points, angle| polar(points, |own| (f64::from(own) + angle) as f32)),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The cloud does not change: copies of the points are rotated. Write to the points themselves, by `iter_mut()`.",
        turn: |_, _| ()),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The first point is left out.",
    turn: |points, angle| if let Some((_, others)) = points.split_first_mut() {
        (REFERENCE.turn)(others, angle);
    }),
    wrong!("2.6", preserves_heights, "This rotates about the x axis: the tree falls over.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let [z, y, x] = right_turn([z, y, x], sin, cos);
        [x, y, z]
    })),
    wrong!("2.6", preserves_heights, "This rotates about the y axis: the tree falls over.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let [x, z, y] = right_turn([x, z, y], sin, cos);
        [x, y, z]
    })),
    wrong!("2.6", preserves_heights, "The height is multiplied by the cosine; it stays as it is.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x - sin * y, sin * x + cos * y, cos * z])),
    wrong!("2.6", takes_sine_and_cosine_in_f64,
        "The angle is reduced by a 2π of f32, whose error adds up over many turns; take the sine of the angle as it is.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % f64::from(std::f32::consts::TAU))),
    wrong!("2.6", takes_sine_and_cosine_in_f64,
        "The angle is reduced by a 2π of f32, whose error adds up over many turns; take the sine of the angle as it is.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.rem_euclid(f64::from(std::f32::consts::TAU)))),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "Only x changes; the rotation changes y as well.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x - sin * y, y, z])),
    wrong!("2.6", preserves_heights, "The height is computed, and rounded; leave it as it is.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x - sin * y, sin * x + cos * y, z * (sin * sin + cos * cos)])),
];
