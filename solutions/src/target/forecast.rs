//! A predicted distribution of one number, and its scores.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use candle_core::Result;

use super::{HALF_LN_TAU, Summary, bin_of, crps, summarise};

/// The predicted distribution of one number.
#[derive(Clone, Debug, PartialEq)]
pub enum Forecast {
    /// A mixture of normal distributions; a Gaussian is a mixture of one.
    Mixture {
        /// Weights, at least 0; their sum is 1.
        weights: Vec<f64>,
        /// Means.
        means: Vec<f64>,
        /// Standard deviations, above 0.
        stds: Vec<f64>,
    },
    /// Probabilities of bins, uniform within a bin.
    Bins {
        /// Strictly ascending, one more than bins.
        edges: Vec<f64>,
        /// At least 0, not all 0.
        probabilities: Vec<f64>,
    },
}

impl Forecast {
    /// The probability of values up to `value`. At the true value it is the probability integral transform, which
    /// [`calibration`](super::calibration) expects.
    pub fn cdf(&self, value: f64) -> f64 {
        match self {
            Self::Mixture { weights, means, stds } => {
                let parts = weights.iter().zip(means).zip(stds);
                let sum: f64 = parts.map(|((w, m), s)| w * normal_cdf((value - m) / s)).sum();
                sum.clamp(0.0, 1.0)
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
            Self::Mixture { weights, means, stds } => {
                let parts = weights.iter().zip(means).zip(stds);
                let logs: Vec<f64> = parts
                    .map(|((w, m), s)| w.ln() - s.ln() - 0.5 * ((value - m) / s).powi(2))
                    .collect();
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
            Self::Mixture { weights, means, stds } => {
                let parts = || weights.iter().zip(means).zip(stds);
                let to_value: f64 = parts().map(|((w, m), s)| w * distance(value - m, s * s)).sum();
                let pairs = parts().flat_map(|a| parts().map(move |b| (a, b)));
                let within = pairs.map(|(((w, m), s), ((v, n), t))| w * v * distance(m - n, s * s + t * t));
                to_value - 0.5 * within.sum::<f64>()
            }
        }
    }

    /// Mean, median and central interval of probability `coverage`.
    pub fn summary(&self, coverage: f64) -> Summary {
        match self {
            Self::Bins { edges, probabilities } => summarise(edges, probabilities, coverage),
            Self::Mixture { weights, means, .. } => Summary {
                mean: weights.iter().zip(means).map(|(w, m)| w * m).sum(),
                median: self.quantile_of_mixture(0.5),
                lower: self.quantile_of_mixture(0.5 - 0.5 * coverage),
                upper: self.quantile_of_mixture(0.5 + 0.5 * coverage),
            },
        }
    }

    /// The average of forecasts of the same kind: each has the same weight, as in test-time augmentation.
    ///
    /// # Errors
    /// Returns an error if there is no forecast, or if they differ in kind or bins.
    pub fn pool(forecasts: &[Self]) -> Result<Self> {
        let differ = || candle_core::Error::msg("pool: the forecasts differ in kind or in their bins");
        let share = 1.0 / forecasts.len().max(1) as f64;
        match forecasts.first() {
            None => candle_core::bail!("pool: no forecasts"),
            Some(Self::Mixture { .. }) => {
                let (mut weights, mut means, mut stds) = (Vec::new(), Vec::new(), Vec::new());
                for forecast in forecasts {
                    let Self::Mixture {
                        weights: w,
                        means: m,
                        stds: s,
                    } = forecast
                    else {
                        return Err(differ());
                    };
                    weights.extend(w.iter().map(|w| w * share));
                    means.extend(m);
                    stds.extend(s);
                }
                Ok(Self::Mixture { weights, means, stds })
            }
            Some(Self::Bins { edges, .. }) => {
                let mut probabilities = vec![0.0; edges.len().saturating_sub(1)];
                for forecast in forecasts {
                    let p = match forecast {
                        Self::Bins {
                            edges: e,
                            probabilities: p,
                        } if e == edges => p,
                        _ => return Err(differ()),
                    };
                    let total: f64 = p.iter().sum();
                    let sums = probabilities.iter_mut().zip(p);
                    sums.for_each(|(sum, p)| *sum += p / total * share);
                }
                let edges = edges.clone();
                Ok(Self::Bins { edges, probabilities })
            }
        }
    }

    /// By bisection between values at which every component is far in its tail.
    fn quantile_of_mixture(&self, share: f64) -> f64 {
        let Self::Mixture { means, stds, .. } = self else {
            return f64::NAN;
        };
        let ends = |sign: f64| means.iter().zip(stds).map(move |(m, s)| m + sign * 40.0 * s);
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
