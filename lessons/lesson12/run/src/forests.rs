//! Four ways in which a target may depend on what is known of a tree.

use std::f64::consts::TAU;

use canopy_data::Philox;

/// The true distribution of a target y, for a known x from −1 to 1.
#[derive(Clone, Copy)]
pub enum ForestKind {
    /// A Gaussian: its mean grows with x.
    Gaussian,
    /// A Gaussian: its mean and its standard deviation grow with x.
    Spread,
    /// A log-normal: many small values, a few large ones, as for stem volumes.
    Skewed,
    /// Two species of different height that the points do not tell apart.
    TwoPeaks,
}

impl ForestKind {
    pub const ALL: [Self; 4] = [Self::Gaussian, Self::Spread, Self::Skewed, Self::TwoPeaks];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian",
            Self::Spread => "varying spread",
            Self::Skewed => "skewed",
            Self::TwoPeaks => "two peaks",
        }
    }

    /// `count` inputs, and a target for each.
    pub fn draw(self, count: usize, random: &mut Philox) -> (Vec<f64>, Vec<f64>) {
        let x: Vec<f64> = (0..count).map(|_| random.range(-1.0, 1.0)).collect();
        let mut target = |&x: &f64| {
            let e = random.normal();
            match self {
                Self::Gaussian => 18.0 + 6.0 * x + 2.0 * e,
                Self::Spread => 18.0 + 6.0 * x + spread(x) * e,
                Self::Skewed => 8.0 + (log_mean(x) + 0.7 * e).exp(),
                Self::TwoPeaks => peaks(x)[random.below(2)] + e,
            }
        };
        let y = x.iter().map(&mut target).collect();
        (x, y)
    }

    /// The true density of `y` for `x`.
    pub fn density(self, x: f64, y: f64) -> f64 {
        let normal = |z: f64| (-0.5 * z * z).exp() / TAU.sqrt();
        match self {
            Self::Gaussian => normal((y - 18.0 - 6.0 * x) / 2.0) / 2.0,
            Self::Spread => normal((y - 18.0 - 6.0 * x) / spread(x)) / spread(x),
            Self::Skewed => normal(((y - 8.0).ln() - log_mean(x)) / 0.7) / (0.7 * (y - 8.0)),
            Self::TwoPeaks => peaks(x).iter().map(|m| 0.5 * normal(y - m)).sum(),
        }
    }
}

fn spread(x: f64) -> f64 {
    2.0 + 1.7 * x
}

fn log_mean(x: f64) -> f64 {
    1.6 + 0.6 * x
}

fn peaks(x: f64) -> [f64; 2] {
    [13.0 + 2.0 * x, 23.0 + 5.0 * x]
}
