//! A predicted distribution of one number, and its scores.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use candle_core::{Result, bail};

use super::{HALF_LN_TAU, Summary, bin_of, crps, summarise};

/// The predicted distribution of one number.
#[derive(Clone, Debug, PartialEq)]
pub enum Forecast {
    /// A mixture of normal distributions; a Gaussian is a mixture of one.
    Mixture(Vec<Component>),
    /// Probabilities of bins, uniform within a bin.
    Bins {
        /// Strictly ascending, one more than bins.
        edges: Vec<f64>,
        /// At least 0, not all 0.
        probabilities: Vec<f64>,
    },
}

/// A normal distribution of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// At least 0; the weights of a mixture sum to 1.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation, above 0.
    pub std: f64,
}

impl Forecast {
    /// The probability of values up to `value`. At the true value it is the probability integral transform, which
    /// [`calibration`](super::calibration) expects.
    pub fn cdf(&self, value: f64) -> f64 {
        match self {
            Self::Mixture(components) => {
                let part = |c: &Component| c.weight * normal_cdf((value - c.mean) / c.std);
                components.iter().map(part).sum::<f64>().clamp(0.0, 1.0)
            }
            Self::Bins { edges, probabilities } => {
                let part = |e: &[f64]| ((value - e[0]) / (e[1] - e[0])).clamp(0.0, 1.0);
                let bins = edges.windows(2).zip(probabilities);
                let below: f64 = bins.map(|(edge, p)| p * part(edge)).sum();
                (below / probabilities.iter().sum::<f64>()).clamp(0.0, 1.0)
            }
        }
    }

    /// The negative logarithm of the density at `value`. The first and the last bin count for the values outside of them
    /// as well, and a probability below 1e-12 as 1e-12, so that one value cannot make a mean infinite.
    pub fn nll(&self, value: f64) -> f64 {
        match self {
            Self::Mixture(components) => {
                let log =
                    |c: &Component| c.weight.ln() - c.std.ln() - 0.5 * ((value - c.mean) / c.std).powi(2);
                let logs: Vec<f64> = components.iter().map(log).collect();
                let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = logs.iter().map(|l| (l - top).exp()).sum();
                HALF_LN_TAU - top - sum.ln()
            }
            Self::Bins { edges, probabilities } => {
                let i = bin_of(edges, value);
                let share = probabilities[i] / probabilities.iter().sum::<f64>();
                (edges[i + 1] - edges[i]).ln() - share.max(1e-12).ln()
            }
        }
    }

    /// The continuous ranked probability score at the true value; see [`crps`]. Of a mixture in closed form (Grimit et
    /// al. 2006).
    pub fn crps(&self, value: f64) -> f64 {
        match self {
            Self::Bins { edges, probabilities } => crps(edges, probabilities, value),
            Self::Mixture(components) => {
                let to_value = |c: &Component| c.weight * distance(value - c.mean, c.std * c.std);
                let within = |a: &Component, b: &Component| {
                    a.weight * b.weight * distance(a.mean - b.mean, a.std * a.std + b.std * b.std)
                };
                let pairs = components
                    .iter()
                    .flat_map(|a| components.iter().map(move |b| (a, b)));
                let within: f64 = pairs.map(|(a, b)| within(a, b)).sum();
                components.iter().map(to_value).sum::<f64>() - 0.5 * within
            }
        }
    }

    /// Mean, median and central interval of probability `coverage`.
    pub fn summary(&self, coverage: f64) -> Summary {
        match self {
            Self::Bins { edges, probabilities } => summarise(edges, probabilities, coverage),
            Self::Mixture(components) => Summary {
                mean: components.iter().map(|c| c.weight * c.mean).sum(),
                median: self.quantile(components, 0.5),
                lower: self.quantile(components, 0.5 - 0.5 * coverage),
                upper: self.quantile(components, 0.5 + 0.5 * coverage),
            },
        }
    }

    /// The average of forecasts of the same kind: each has the same weight, as in test-time augmentation.
    ///
    /// # Errors
    /// Returns an error if there is no forecast, or if they differ in kind or bins.
    pub fn pool(forecasts: &[Self]) -> Result<Self> {
        let share = 1.0 / forecasts.len() as f64;
        let mut shares = forecasts.iter().map(|forecast| forecast.scaled(share));
        let Some(mut pooled) = shares.next() else {
            bail!("pool: no forecasts");
        };
        for forecast in shares {
            match (&mut pooled, forecast) {
                (Self::Mixture(all), Self::Mixture(new)) => all.extend(new),
                (
                    Self::Bins { edges, probabilities },
                    Self::Bins {
                        edges: own,
                        probabilities: new,
                    },
                ) if *edges == own => {
                    let sums = probabilities.iter_mut().zip(new);
                    sums.for_each(|(sum, p)| *sum += p);
                }
                _ => bail!("pool: the forecasts differ in kind or in their bins"),
            }
        }
        Ok(pooled)
    }

    /// With probabilities that sum to `share`.
    fn scaled(&self, share: f64) -> Self {
        let mut scaled = self.clone();
        match &mut scaled {
            Self::Mixture(components) => components.iter_mut().for_each(|c| c.weight *= share),
            Self::Bins { probabilities, .. } => {
                let total: f64 = probabilities.iter().sum();
                probabilities.iter_mut().for_each(|p| *p = *p / total * share);
            }
        }
        scaled
    }

    /// By bisection between values at which every component is far in its tail.
    fn quantile(&self, components: &[Component], share: f64) -> f64 {
        let ends = |sign: f64| components.iter().map(move |c| c.mean + sign * 40.0 * c.std);
        let mut low = ends(-1.0).fold(f64::INFINITY, f64::min);
        let mut high = ends(1.0).fold(f64::NEG_INFINITY, f64::max);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if self.cdf(middle) < share {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }
}

/// The standard normal distribution function.
fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The expected absolute value of a normal number with this mean and variance.
fn distance(mean: f64, variance: f64) -> f64 {
    let std = variance.sqrt();
    let z = mean / std;
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    2.0 * std * density + mean * (2.0 * normal_cdf(z) - 1.0)
}
