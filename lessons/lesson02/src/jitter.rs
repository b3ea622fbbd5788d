//! 2.7: jitter.

use canopy_data::Philox;
use grader::{Check, Draw, Mistake, Values, Verdict, given, mistakes, rows};

use crate::clouds::{Cloud, cloud, places};
use crate::{Lesson02, REFERENCE, answers};

/// Points, deviation, seed.
type Noise = (Cloud, f32, u64);

fn compare(answer: &Lesson02, noise: Noise, what: &str, fact: fn(&Cloud, &mut Philox) -> Values) -> Verdict {
    let (points, deviation, seed) = noise;
    let of = |lesson: &Lesson02| {
        let (mut points, mut random) = (points.clone(), Philox::new(seed, 0));
        (lesson.jitter)(&mut points, deviation, &mut random);
        fact(&points, &mut random)
    };
    let text = format!("points {points:?}, deviation {deviation}, Philox::new({seed}, 0)");
    given(text).close(what, of(answer), of(&REFERENCE))
}

fn result(answer: &Lesson02, noise: Noise) -> Verdict {
    compare(answer, noise, "points", |points, _| places(points))
}

fn next_draw(answer: &Lesson02, noise: Noise) -> Verdict {
    compare(answer, noise, "next draw", |_, random| random.normal().into())
}

fn drawn(d: &mut Draw, count: usize, deviation: f32) -> Noise {
    (cloud(d, count), deviation, d.whole(1, 9_999) as u64)
}

/// Some coordinates are 0.
fn with_zeros(d: &mut Draw) -> Noise {
    let mut noise = drawn(d, 4, 1.0);
    (noise.0[1][2], noise.0[2][0], noise.0[3][1]) = (0.0, 0.0, 0.0);
    noise
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.7";
    by next_draw {
        advances_the_generator: "a draw of `random.normal()`",
            "Call `random.normal()` once for each coordinate, on `random` itself, and nothing else that draws." =>
            |d| vec![with_zeros(d), drawn(d, 0, 1.0)];
    }
    by result {
        adds_a_draw_to_each_coordinate: "x, y, z of the first point, then of the second",
            "Add the draws, as they are, to x, y, z of the first point, then of the next, whatever the coordinate is." => |d| vec![with_zeros(d)];
        scales_the_noise_by_the_deviation: "`deviation` times a draw",
            "Multiply each draw by `deviation`, however large or small that is." => |d| {
            let [some, large] = [(0.05, 0.2), (20.0, 30.0)].map(|(low, high)| d.list(1, low, high)[0]);
            // At the origin, tiny noise loses no digits.
            vec![drawn(d, 3, some), drawn(d, 3, large), (vec![[0.0; 3]; 2], 5e-7, 1)]
        };
        clamps_draws_at_5: "clamped to ±5",
            "Clamp each draw to −5 … 5, then multiply it by `deviation`. A draw within ±5 stays as it is." => |d| {
            // Their greatest draws: −4.83, 4.52, −6.11 and 5.32.
            [28_188, 30_242, 5_427_667, 6_506_474].map(|seed| (cloud(d, 2), 0.25, seed)).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.7" jitter;
    1 "The noise is scaled by the variance, the square of the deviation.";
    2 "The noise comes from a new generator; all randomness must come from `random`.";
    3 "The draws come from a copy of `random`: the next cloud would get the same noise.";
    4 "The noise is clamped to ±5 units of the cloud; clamp the draw, then scale it.";
    5 "A draw beyond ±5 is drawn again; it should count as ±5.";
    6 "The noise replaces the coordinate; add it to the coordinate.";
    7 "The sign of a draw is lost: all points move the same way.";
    8 "A draw below −5 or above 5 is not clamped: it moves a point far away.";
};
