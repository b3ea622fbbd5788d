//! Four ways in which a target may depend on what is known of a tree.

use std::f64::consts::{PI, TAU};

use canopy_data::Philox;

/// The true distribution of a target y, for a known x from −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForestKind {
    /// One Gaussian: its mean grows with x.
    Gaussian,
    /// A log-normal: many small values, a few large ones, as for stem volumes.
    Skewed,
    /// Two species of different height that the points do not tell apart.
    TwoPeaks,
    /// Student's t with 3 degrees of freedom, and a scale that grows with x.
    HeavyTails,
}

impl ForestKind {
    pub const ALL: [Self; 4] = [Self::Gaussian, Self::Skewed, Self::TwoPeaks, Self::HeavyTails];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian",
            Self::Skewed => "skewed",
            Self::TwoPeaks => "two peaks",
            Self::HeavyTails => "heavy tails",
        }
    }

    /// A target for `x`.
    pub fn draw(self, x: f64, random: &mut Philox) -> f64 {
        let e = random.normal();
        match self {
            Self::Gaussian => 18.0 + 6.0 * x + 2.0 * e,
            Self::Skewed => 8.0 + (log_mean(x) + 0.7 * e).exp(),
            Self::TwoPeaks => peaks(x)[random.below(2)] + e,
            Self::HeavyTails => {
                let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                18.0 + 6.0 * x + scale(x) * e / (squares / 3.0).sqrt()
            }
        }
    }

    /// The true density of `y` for `x`.
    pub fn density(self, x: f64, y: f64) -> f64 {
        let normal = |z: f64| (-0.5 * z * z).exp() / TAU.sqrt();
        match self {
            Self::Gaussian => normal((y - 18.0 - 6.0 * x) / 2.0) / 2.0,
            Self::Skewed if y <= 8.0 => 0.0,
            Self::Skewed => normal(((y - 8.0).ln() - log_mean(x)) / 0.7) / (0.7 * (y - 8.0)),
            Self::TwoPeaks => peaks(x).iter().map(|m| 0.5 * normal(y - m)).sum(),
            Self::HeavyTails => {
                let z = (y - 18.0 - 6.0 * x) / scale(x);
                2.0 / (PI * 3f64.sqrt() * (1.0 + z * z / 3.0).powi(2) * scale(x))
            }
        }
    }
}

fn log_mean(x: f64) -> f64 {
    1.6 + 0.6 * x
}

fn peaks(x: f64) -> [f64; 2] {
    [13.0 + 2.0 * x, 23.0 + 5.0 * x]
}

fn scale(x: f64) -> f64 {
    1.5 + x
}

/// Inputs and targets.
pub struct Sample {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Sample {
    pub fn draw(forest: ForestKind, count: usize, random: &mut Philox) -> Self {
        let x: Vec<f64> = (0..count).map(|_| random.range(-1.0, 1.0)).collect();
        let y = x.iter().map(|&x| forest.draw(x, random)).collect();
        Self { x, y }
    }
}

/// The mean negative log-likelihood and CRPS of the true distribution: no forecast can have less, apart from chance.
pub fn truth(forest: ForestKind, sample: &Sample, random: &mut Philox) -> [f64; 2] {
    let n = sample.y.len() as f64;
    let pairs = || sample.x.iter().zip(&sample.y);
    let nll: f64 = pairs().map(|(&x, &y)| -forest.density(x, y).ln()).sum();
    // E|X − y| − ½·E|X − X'|, by draws.
    const DRAWS: usize = 100;
    let mut crps = 0.0;
    for (&x, &y) in pairs() {
        let drawn: Vec<f64> = (0..DRAWS).map(|_| forest.draw(x, random)).collect();
        let to_y: f64 = drawn.iter().map(|d| (d - y).abs()).sum();
        let apart: f64 = drawn.chunks_exact(2).map(|d| (d[0] - d[1]).abs()).sum();
        crps += (to_y - apart) / DRAWS as f64;
    }
    [nll / n, crps / n]
}
