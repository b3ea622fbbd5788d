//! How a network's outputs describe a distribution: its loss in training, and the forecast in evaluation.

use std::{f64::consts::FRAC_1_SQRT_2, fmt};

use anyhow::{Result, ensure};
use candle_core::{D, DType, Device, Tensor};
use candle_nn::ops::softmax;
use serde::{Deserialize, Serialize};

use super::{Component, Forecast, bin_of, gaussian_nll, mixture_nll, quantile_bins};
use crate::kernels;

/// The kind of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadKind {
    /// A normal distribution.
    Gaussian,
    /// A mixture of normal distributions.
    Mixture,
    /// Probabilities of bins.
    #[default]
    Bins,
}

impl fmt::Display for HeadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "a Gaussian",
            Self::Mixture => "a mixture of Gaussians",
            Self::Bins => "bins",
        })
    }
}

/// A head: what the outputs of a network for one cloud mean. Means and standard deviations of the first two are in units
/// of the training values, whose mean and standard deviation they keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// Outputs: mean and logarithm of the standard deviation.
    Gaussian {
        /// Mean of the training values.
        mean: f32,
        /// Their standard deviation.
        std: f32,
    },
    /// Outputs: for each component the logit of its weight, then all means, then all logarithms of standard deviations.
    Mixture {
        /// Components.
        components: usize,
        /// Mean of the training values.
        mean: f32,
        /// Their standard deviation.
        std: f32,
    },
    /// Outputs: logits of the bins.
    Bins {
        /// Quantiles of the training values.
        edges: Vec<f32>,
    },
}

/// Bounds of the logarithm of a standard deviation, in units of the training values. A network that overfits would let it
/// fall without end.
const LOG_STD: f64 = 7.0;

/// The slope of the logarithm beyond its bounds: not 0, so that its gradient leads back.
const BEYOND: f64 = 0.01;

/// Where the means of the components of a mixture start: spread over this many standard deviations, so that the components
/// differ from the beginning.
const SPREAD: f64 = 3.0;

impl Head {
    /// The head of `kind` for training values `values`, with `components` components or `bins` bins.
    ///
    /// # Errors
    /// Returns an error if a value is not finite, if all are equal, or if there are no components or fewer than 2 bins.
    pub fn fit(kind: HeadKind, components: usize, bins: usize, values: &[f64]) -> Result<Self> {
        ensure!(components >= 1, "a mixture needs at least 1 component");
        ensure!(bins >= 2, "there are {bins} bins, expected at least 2");
        if let Some(bad) = values.iter().find(|v| !v.is_finite()) {
            anyhow::bail!("a training value is {bad}: it must be finite");
        }
        ensure!(
            values.iter().any(|v| *v != values[0]),
            "all {} training values are equal: there is nothing to predict",
            values.len()
        );
        let n = values.len() as f64;
        let average = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - average).powi(2)).sum::<f64>() / n;
        let (mean, std) = (average as f32, variance.sqrt() as f32);
        Ok(match kind {
            HeadKind::Gaussian => Self::Gaussian { mean, std },
            HeadKind::Mixture => Self::Mixture {
                components,
                mean,
                std,
            },
            HeadKind::Bins => {
                let mut edges: Vec<f32> = quantile_bins(values, bins).iter().map(|&e| e as f32).collect();
                edges.dedup();
                ensure!(
                    edges.len() >= 3,
                    "the training values are so often equal that {} of {bins} bins is left: choose --head gaussian, or \
                     another number of bins",
                    edges.len().saturating_sub(1)
                );
                Self::Bins { edges }
            }
        })
    }

    /// Outputs of the network for each cloud.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Gaussian { .. } => 2,
            Self::Mixture { components, .. } => 3 * components,
            Self::Bins { edges } => edges.len().saturating_sub(1),
        }
    }

    /// What the loss expects for the true value `value`: the value in units of the training values, or the number of its
    /// bin.
    pub fn label(&self, value: f64) -> f32 {
        match self {
            Self::Gaussian { mean, std } | Self::Mixture { mean, std, .. } => {
                ((value - f64::from(*mean)) / f64::from(*std)) as f32
            }
            Self::Bins { edges } => bin_of(&widened(edges), value) as f32,
        }
    }

    /// What [`Self::loss`] lacks of the negative log-likelihood in the unit of the values: the logarithm of the standard
    /// deviation of the training values, or of the width of the bin of `value`.
    pub fn log_unit(&self, value: f64) -> f64 {
        match self {
            Self::Gaussian { std, .. } | Self::Mixture { std, .. } => f64::from(*std).ln(),
            Self::Bins { edges } => {
                let edges = widened(edges);
                let bin = bin_of(&edges, value);
                (edges[bin + 1] - edges[bin]).ln()
            }
        }
    }

    /// The mean negative log-likelihood of [`Self::label`]s `labels` `[clouds]` (f32), a scalar with its graph. `outputs` is
    /// `[clouds, outputs]`.
    ///
    /// # Errors
    /// Returns an error if the shapes do not match.
    pub fn loss(&self, outputs: &Tensor, labels: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Self::Gaussian { .. } => kernels::loss_by_candle(outputs, |outputs| {
                let [_, mean, log_std] = self.parts(outputs)?;
                gaussian_nll(
                    &mean.squeeze(1)?,
                    &log_std.squeeze(1)?,
                    &labels.to_dtype(mean.dtype())?,
                )
            }),
            Self::Mixture { .. } => kernels::loss_by_candle(outputs, |outputs| {
                let [logits, mean, log_std] = self.parts(outputs)?;
                mixture_nll(&logits, &mean, &log_std, &labels.to_dtype(mean.dtype())?)
            }),
            Self::Bins { .. } => kernels::cross_entropy(outputs, &labels.to_dtype(DType::U32)?, 0.0, None),
        }
    }

    /// The number of `labels` inside the central half of their forecasts: half of them, if the forecasts are calibrated.
    /// A scalar (f32) still on the device.
    ///
    /// # Errors
    /// Returns an error if the shapes do not match.
    pub fn in_central_half(&self, outputs: &Tensor, labels: &Tensor) -> candle_core::Result<Tensor> {
        let outputs = outputs.detach().to_dtype(DType::F32)?;
        let pit = match self {
            Self::Bins { .. } => {
                let shares = softmax(&outputs, D::Minus1)?;
                let bins = labels.to_dtype(DType::U32)?.unsqueeze(1)?;
                let up_to = shares.cumsum(1)?.gather(&bins, 1)?;
                // The middle of the bin.
                (up_to - (shares.gather(&bins, 1)? * 0.5)?)?
            }
            _ => {
                let [logits, mean, log_std] = self.parts(&outputs)?;
                let labels = labels.to_dtype(DType::F32)?.unsqueeze(1)?;
                let z = (labels.broadcast_sub(&mean)? * log_std.neg()?.exp()?)?;
                let cdf = (((z * FRAC_1_SQRT_2)?.erf()? + 1.0)? * 0.5)?;
                (softmax(&logits, D::Minus1)? * cdf)?.sum_keepdim(1)?
            }
        };
        (pit - 0.5)?.abs()?.le(0.25)?.to_dtype(DType::F32)?.sum_all()
    }

    /// The forecast that the outputs `row` for one cloud mean, in the unit of the training values.
    pub fn forecast(&self, row: &[f32]) -> Forecast {
        let row: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
        let softmax = |logits: &[f64]| {
            let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shares: Vec<f64> = logits.iter().map(|l| (l - top).exp()).collect();
            let total: f64 = shares.iter().sum();
            shares.into_iter().map(|s| s / total).collect::<Vec<_>>()
        };
        let (mean, std) = match self {
            Self::Bins { edges } => {
                return Forecast::Bins {
                    edges: widened(edges),
                    probabilities: softmax(&row),
                };
            }
            Self::Gaussian { mean, std } | Self::Mixture { mean, std, .. } => {
                (f64::from(*mean), f64::from(*std))
            }
        };
        let k = self.components();
        let (logits, rest) = row.split_at(row.len() - 2 * k);
        let (means, log_stds) = rest.split_at(k);
        let starts = starts(k);
        // Of a Gaussian there are none.
        let weights = if logits.is_empty() {
            vec![1.0]
        } else {
            softmax(logits)
        };
        let component = |j: usize| {
            let inside = log_stds[j].clamp(-LOG_STD, LOG_STD);
            Component {
                weight: weights[j],
                mean: mean + std * (means[j] + starts[j]),
                std: std * (inside + BEYOND * (log_stds[j] - inside)).exp(),
            }
        };
        Forecast::Mixture((0..k).map(component).collect())
    }

    fn components(&self) -> usize {
        match self {
            Self::Mixture { components, .. } => *components,
            _ => 1,
        }
    }

    /// Logits, means and logarithms of standard deviations, `[clouds, components]` each.
    fn parts(&self, outputs: &Tensor) -> candle_core::Result<[Tensor; 3]> {
        let k = self.components();
        let of = |from: usize| outputs.narrow(1, from, k);
        let (logits, first) = match self {
            Self::Mixture { .. } => (of(0)?, k),
            _ => (of(0)?.zeros_like()?, 0),
        };
        let starts = Tensor::from_vec(starts(k), (1, k), &Device::Cpu)?
            .to_dtype(outputs.dtype())?
            .to_device(outputs.device())?;
        let log_std = of(first + k)?;
        let inside = log_std.clamp(-LOG_STD, LOG_STD)?;
        let log_std = (&inside + ((log_std - &inside)? * BEYOND)?)?;
        Ok([logits, of(first)?.broadcast_add(&starts)?, log_std])
    }
}

/// Where the means of `k` components start, in units of the training values: evenly about 0.
fn starts(k: usize) -> Vec<f64> {
    let step = SPREAD / k as f64;
    (0..k).map(|j| (j as f64 + 0.5) * step - 0.5 * SPREAD).collect()
}

fn widened(edges: &[f32]) -> Vec<f64> {
    edges.iter().map(|&e| f64::from(e)).collect()
}
