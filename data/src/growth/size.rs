//! The size of a tree: height, crown length and crown width from diameter, site and crowding; and the outline of its crown,
//! which light and neighbours limit.

use std::f64::consts::TAU;

use super::vec3::Vec3;
use crate::{
    Philox,
    species::{Habit, Profile},
};

/// The conditions of a tree: the plot's site and the tree's neighbourhood.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Diameter at breast height (1.3 m), cm.
    pub diameter: f64,
    /// Site quality: factor on the height of Petterson's curve.
    pub site: f64,
    /// Crowding: 0 free-standing, 1 suppressed.
    pub crowding: f64,
    /// Age relative to the species' maturity: 0 young, 1 old. Old crowns round off and grow irregular.
    pub age: f64,
    /// Whether it has leaves; needles stay in winter.
    pub leaves: bool,
}

/// A tree's measures, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Diameter at breast height, m.
    pub diameter: f64,
    /// Height of the top.
    pub height: f64,
    /// Height of the crown's base.
    pub crown_base: f64,
    /// Greatest radius of the crown.
    pub crown_radius: f64,
}

impl Size {
    /// Draws the measures of a tree of `habit` in the conditions `standing`.
    ///
    /// Height: Petterson's form of Näslund's height curve, h = 1.3 + (d / (a + b d))³. Crown width: the
    /// allometric form w = c dᵉ, as Pretzsch uses it for crowns ("Forest Dynamics, Growth and Yield", 2009);
    /// suppressed trees are slender, with a short and narrow crown. The coefficients are set by hand.
    pub fn draw(habit: &Habit, standing: &Standing, rng: &mut Philox) -> Self {
        let d = standing.diameter;
        let [a, b] = habit.petterson;
        let root = d / (a + b * d);
        let slender = 0.92 + 0.16 * standing.crowding;
        let height = 1.3 + root * root * root * standing.site * slender * spread(rng, 0.07);

        let [free, pressed] = habit.crown_ratio;
        let ratio = free + (pressed - free) * standing.crowding;
        let ratio = (ratio * spread(rng, 0.07)).clamp(0.18, 0.92);

        let [c, e] = habit.crown_width;
        let width = c * libm::pow(d, e) * (1.2 - 0.4 * standing.crowding) * spread(rng, 0.10);
        Self {
            diameter: d * 0.01,
            height,
            crown_base: (height * (1.0 - ratio)).max(0.4),
            crown_radius: (width * 0.5).max(0.4),
        }
    }

    /// Length of the crown.
    pub fn crown_length(&self) -> f64 {
        self.height - self.crown_base
    }
}

/// A log-normal factor with median 1, clamped at 2.5 standard deviations.
fn spread(rng: &mut Philox, deviation: f64) -> f64 {
    libm::exp(deviation * rng.normal().clamp(-2.5, 2.5))
}

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
