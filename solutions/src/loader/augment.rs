//! Augmentation: changes of a cloud that do not change its species.

use canopy_data::Philox;

/// An augmentation that is no setting: it changes the points of a training cloud in place.
pub type OwnAugment = fn(&mut [[f32; 3]], &mut Philox);

/// The augmentation of a training cloud, applied after it was normalised.
#[derive(Clone, Copy, Debug)]
pub struct Augment {
    /// Rotate about the trunk (the z axis) by a random angle.
    pub turn: bool,
    /// Standard deviation of the noise on each coordinate, in units of the frame. Noise beyond 5 standard deviations is
    /// clamped.
    pub jitter: f32,
    /// Multiply the width (x and y) and the height (z) each by a random factor in [1 − scale, 1 + scale].
    pub scale: f32,
    /// Maximum dropout probability of a point (Qi et al. 2017): each cloud draws a probability between 0 and this
    /// value, and each of its points is replaced by the first one with that probability.
    pub point_dropout: f32,
    /// What is done last.
    pub own: Option<OwnAugment>,
}

impl Augment {
    /// No augmentation.
    pub const NONE: Self = Self {
        turn: false,
        jitter: 0.0,
        scale: 0.0,
        point_dropout: 0.0,
        own: None,
    };

    /// Changes `points` in place. `echo` contains their other channels, row by row; a dropped point takes those of the
    /// first one.
    pub fn apply(&self, points: &mut [[f32; 3]], echo: &mut [f32], random: &mut Philox) {
        if self.turn {
            turn(points, random.uniform_f64() * std::f64::consts::TAU);
        }
        if self.scale > 0.0 {
            let s = f64::from(self.scale);
            let wide = random.range(1.0 - s, 1.0 + s) as f32;
            let high = random.range(1.0 - s, 1.0 + s) as f32;
            points
                .iter_mut()
                .for_each(|p| *p = [p[0] * wide, p[1] * wide, p[2] * high]);
        }
        jitter(points, self.jitter, random);
        if self.point_dropout > 0.0 && !points.is_empty() {
            let share = random.uniform() * self.point_dropout;
            let first = points[0];
            let channels = echo.len() / points.len();
            for (i, p) in points.iter_mut().enumerate() {
                if random.uniform() < share {
                    *p = first;
                    echo.copy_within(..channels, i * channels);
                }
            }
        }
        if let Some(own) = self.own {
            own(points, random);
        }
    }
}

/// Rotates `points` about the trunk, which is the z axis, by `angle` radians, counter-clockwise seen from above.
pub fn turn(points: &mut [[f32; 3]], angle: f64) {
    // libm is bit-identical on every machine; the system's sine is not.
    let (sin, cos) = (libm::sin(angle) as f32, libm::cos(angle) as f32);
    for p in points {
        *p = [cos * p[0] - sin * p[1], sin * p[0] + cos * p[1], p[2]];
    }
}

/// Adds normal noise with standard deviation `deviation` to each coordinate, clamped to 5 standard deviations. If
/// `deviation` is 0, no random numbers are drawn.
pub fn jitter(points: &mut [[f32; 3]], deviation: f32, random: &mut Philox) {
    if deviation > 0.0 {
        for c in points.iter_mut().flatten() {
            *c += random.normal().clamp(-5.0, 5.0) as f32 * deviation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud() -> Vec<[f32; 3]> {
        let mut r = Philox::new(3, 0);
        (0..200)
            .map(|_| [r.uniform() - 0.5, r.uniform() - 0.5, r.uniform() - 0.5])
            .collect()
    }

    #[test]
    fn dropped_points_move_to_the_first_one() {
        let mut c = cloud();
        Augment {
            point_dropout: 0.9,
            ..Augment::NONE
        }
        .apply(&mut c, &mut [], &mut Philox::new(8, 8));
        let gone = c.iter().filter(|&&p| p == c[0]).count();
        assert!((2..200).contains(&gone), "{gone} points are at the first");
        let kept = cloud();
        assert!(c.iter().zip(&kept).all(|(a, b)| a == b || *a == c[0]));
    }
}
