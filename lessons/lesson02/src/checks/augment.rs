use canopy_data::Philox;
use grader::{Draw, Values, Verdict, draw, given};

use super::{cloud, places};
use crate::Lesson02;

fn turned(answer: &Lesson02, points: &[[f32; 3]], angle: f64) -> Vec<[f32; 3]> {
    let mut points = points.to_vec();
    (answer.turn)(&mut points, angle);
    points
}

/// Points anywhere about the trunk, and their angle.
fn about(draw: &mut Draw, count: usize) -> (Vec<[f32; 3]>, f64) {
    (cloud(draw, count), draw.number(0.3, 1.2))
}

fn check_turn(answer: &Lesson02, points: &[[f32; 3]], angle: f64) -> Verdict {
    let case = given(format!("points {points:?}, angle {angle:.4}")).at_scale(1.0);
    let (sin, cos) = angle.sin_cos();
    let numbers = points.iter().flat_map(|p| {
        let [x, y, z] = p.map(f64::from);
        [cos * x - sin * y, sin * x + cos * y, z]
    });
    let expected = Values::tensor(numbers.collect(), &[points.len(), 3], "f32");
    case.close("points", places(&turned(answer, points, angle)), expected)
}

pub fn rotates_the_x_axis_to_the_y_axis(answer: &Lesson02) -> Verdict {
    let far = draw().list(1, 1.0, 3.0)[0];
    check_turn(answer, &[[far, 0.0, 2.0]], std::f64::consts::FRAC_PI_2)
}

pub fn preserves_heights(answer: &Lesson02) -> Verdict {
    let (points, angle) = about(&mut draw(), 4);
    let case = given(format!("points {points:?}, angle {angle:.4}"));
    let heights = |points: &[[f32; 3]]| -> Vec<f32> { points.iter().map(|p| p[2]).collect() };
    let got = heights(&turned(answer, &points, angle));
    case.close("heights z", &got, &heights(&points))
}

pub fn preserves_distances_from_the_trunk(answer: &Lesson02) -> Verdict {
    let (points, angle) = about(&mut draw(), 4);
    let case = given(format!("points {points:?}, angle {angle:.4}"));
    let far = |points: &[[f32; 3]]| -> Vec<f32> { points.iter().map(|p| p[0].hypot(p[1])).collect() };
    let got = far(&turned(answer, &points, angle));
    case.close("distances from the z axis", &got, &far(&points))
}

pub fn rotates_by_any_angle(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let (points, angle) = about(&mut draw, 3);
    check_turn(answer, &points, angle)?;
    check_turn(answer, &points, -angle - 2.0)?;
    check_turn(answer, &points, angle + 4.0)?;
    let case = given("a cloud without points");
    case.close("points of the result", turned(answer, &[], angle).len(), 0usize)
}

/// A cloud, the seed of its noise, and what is said of both.
struct Noisy {
    points: Vec<[f32; 3]>,
    seed: u64,
}

impl Noisy {
    fn drawn(draw: &mut Draw, count: usize) -> Self {
        let points = cloud(draw, count);
        let seed = draw.whole(1, 9_999) as u64;
        Self { points, seed }
    }

    fn case(&self, deviation: f32) -> grader::Case {
        let (points, seed) = (&self.points, self.seed);
        given(format!(
            "points {points:?}, deviation {deviation}, Philox::new({seed}, 0)"
        ))
        .at_scale(1.0)
    }

    fn random(&self) -> Philox {
        Philox::new(self.seed, 0)
    }

    /// The points, and on each coordinate the next of `random`'s draws, cut and scaled.
    fn with_noise(&self, deviation: f32, random: &mut Philox) -> Values {
        let numbers = self.points.iter().flatten();
        let mut one = |&c| f64::from(c) + f64::from(deviation) * random.normal().clamp(-5.0, 5.0);
        let numbers = numbers.map(&mut one).collect();
        Values::tensor(numbers, &[self.points.len(), 3], "f32")
    }

    fn check(&self, answer: &Lesson02, deviation: f32) -> Verdict {
        let case = self.case(deviation);
        let mut points = self.points.clone();
        (answer.jitter)(&mut points, deviation, &mut self.random());
        case.close(
            "points",
            places(&points),
            self.with_noise(deviation, &mut self.random()),
        )
    }
}

pub fn adds_a_draw_to_each_coordinate(answer: &Lesson02) -> Verdict {
    // At a deviation of 1, all that counts is which draw goes where.
    Noisy::drawn(&mut draw(), 4).check(answer, 1.0)
}

pub fn scales_the_noise_by_the_deviation(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let noisy = Noisy::drawn(&mut draw, 3);
    noisy.check(answer, draw.list(1, 0.05, 0.2)[0])?;
    noisy.check(answer, draw.list(1, 20.0, 30.0)[0])
}

pub fn clamps_the_noise_at_5_deviations(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let deviation = draw.list(1, 0.2, 0.5)[0];
    // One draw in nearly two million is beyond 5; the third of each of these seeds is: −6.11, and 5.32.
    for seed in [5_427_667, 6_506_474] {
        let points = cloud(&mut draw, 2);
        Noisy { points, seed }.check(answer, deviation)?;
    }
    Ok(())
}

pub fn leaves_the_cloud_unchanged_without_noise(answer: &Lesson02) -> Verdict {
    Noisy::drawn(&mut draw(), 3).check(answer, 0.0)
}

pub fn advances_the_generator(answer: &Lesson02) -> Verdict {
    let noisy = Noisy::drawn(&mut draw(), 2);
    let case = noisy.case(0.5);
    let (mut random, mut by_hand) = (noisy.random(), noisy.random());
    for time in ["first", "second"] {
        let mut points = noisy.points.clone();
        (answer.jitter)(&mut points, 0.5, &mut random);
        let expected = noisy.with_noise(0.5, &mut by_hand);
        case.close(&format!("points of the {time} call"), places(&points), expected)?;
    }
    Ok(())
}
