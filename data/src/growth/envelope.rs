//! The outline of a crown, which light and neighbours limit.

use std::f64::consts::TAU;

use crate::{
    Philox,
    species::{Habit, Profile},
};

use super::{
    size::{Size, Standing},
    vec3::Vec3,
};

/// A crown's outline: a profile over height, with lobes about the stem and a pull towards the light.
#[derive(Debug)]
pub struct Envelope {
    base: f64,
    top: f64,
    radius: f64,
    profile: Profile,
    /// Relative amplitude and phase of one, two and three lobes about the stem.
    lobes: [(f64, f64); 3],
    /// Relative amplitude and phase of the outline's change with height.
    waves: (f64, f64),
    /// Offset of the crown's middle from the foot, metres sideways per metre of height.
    lean: Vec3,
}

impl Envelope {
    /// The outline of a tree of `habit` and `size`: suppressed trees lean to one side, old ones are lobed and blunt.
    pub fn draw(habit: &Habit, size: &Size, standing: &Standing, rng: &mut Philox) -> Self {
        let mut profile = habit.profile;
        let vary = |rng: &mut Philox, by: f64| libm::exp(by * rng.normal().clamp(-2.0, 2.0));
        profile.peak = (profile.peak * vary(rng, 0.08)).clamp(0.2, 0.96);
        profile.upper = (profile.upper * vary(rng, 0.08) * (0.88 + 0.24 * standing.age)).max(1.0);
        profile.base = (profile.base * vary(rng, 0.2)).min(0.95);
        let lobe = habit.lobes * (0.5 + standing.age);
        let mut draw = |amplitude: f64| (amplitude * rng.normal().clamp(-2.0, 2.0), rng.range(0.0, TAU));
        let lobes = [draw(lobe + 0.16 * standing.crowding), draw(lobe), draw(lobe)];
        Self {
            base: size.crown_base,
            top: size.height,
            radius: size.crown_radius,
            profile,
            lobes,
            waves: draw(lobe),
            lean: Vec3::default(),
        }
    }

    /// Centres the outline on a stem that ends at `top`.
    pub fn follow(&mut self, top: Vec3) {
        self.lean = Vec3::new(top.x, top.y, 0.0) * (1.0 / top.z.max(1.0));
    }

    /// The crown's radius at height `z` and `azimuth`; 0 above the top.
    pub fn reach(&self, z: f64, azimuth: f64) -> f64 {
        let depth = (self.top - z) / (self.top - self.base);
        if depth <= 0.0 {
            return 0.0;
        }
        let round = |s: f64, p: f64| libm::pow(1.0 - libm::pow(1.0 - s, p), 1.0 / p);
        let Profile {
            peak,
            upper,
            lower,
            base,
        } = self.profile;
        let outline = if depth < peak {
            round(depth / peak, upper)
        } else {
            base + (1.0 - base) * round(((1.0 - depth) / (1.0 - peak)).max(0.0), lower)
        };
        let mut factor = 1.0 + self.waves.0 * libm::sin(3.0 * TAU * depth * 0.5 + self.waves.1 + azimuth);
        for (k, (amplitude, phase)) in self.lobes.iter().enumerate() {
            factor += amplitude * libm::cos((k + 1) as f64 * azimuth - phase);
        }
        self.radius * outline * factor.clamp(0.4, 1.7)
    }

    /// Whether `p` is inside the outline enlarged by `slack`.
    pub fn contains(&self, p: Vec3, slack: f64) -> bool {
        let p = p - self.lean * p.z;
        p.horizontal() <= self.reach(p.z, libm::atan2(p.y, p.x)) * slack + 0.05
    }
}
