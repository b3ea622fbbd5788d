//! The size of a tree: height, crown length and crown width from diameter, site and crowding.

use crate::{Philox, species::Habit};

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
