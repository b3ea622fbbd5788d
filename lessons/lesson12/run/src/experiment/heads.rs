//! Heads: what the outputs of a network mean, how they are trained, and the forecast that they give.

use candle_core::{Result, Tensor};
use canopy::{
    kernels::cross_entropy,
    target::{Component, Forecast, Summary},
};
use lesson12::Lesson12;

/// Components of a mixture.
const COMPONENTS: usize = 5;

/// What the network predicts.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// A number, trained with the squared error. Its forecast is a Gaussian with the root mean square error of the
    /// training set.
    SquaredError,
    /// μ and ln σ.
    Gaussian,
    /// Logits, μ and ln σ of five components.
    Mixture,
    /// A logit for each of this number of bins, or of fewer if edges merge.
    Bins(usize),
}

impl Head {
    pub const ALL: [Self; 4] = [Self::SquaredError, Self::Gaussian, Self::Mixture, Self::Bins(20)];

    pub fn name(&self) -> String {
        match self {
            Self::SquaredError => "squared error".into(),
            Self::Gaussian => "Gaussian".into(),
            Self::Mixture => format!("mixture of {COMPONENTS}"),
            Self::Bins(bins) => format!("{bins} bins"),
        }
    }
}

/// A head for the targets of a training set, with the functions of the run.
pub struct Fitted {
    pub head: Head,
    answer: Lesson12,
    edges: Vec<f64>,
    /// The deviation of the forecast of `SquaredError`.
    pub deviation: f64,
}

impl Fitted {
    pub fn new(answer: &Lesson12, head: &Head, targets: &[f64]) -> Self {
        let edges = match head {
            Head::Bins(bins) => (answer.quantile_bins)(targets, *bins),
            _ => Vec::new(),
        };
        Self {
            head: head.clone(),
            answer: *answer,
            edges,
            deviation: 1.0,
        }
    }

    /// How many outputs the network has.
    pub fn outputs(&self) -> usize {
        match self.head {
            Head::SquaredError => 1,
            Head::Gaussian => 2,
            Head::Mixture => 3 * COMPONENTS,
            Head::Bins(_) => self.edges.len() - 1,
        }
    }

    /// The loss of `outputs`, [n, outputs], for targets.
    pub fn loss(&self, outputs: &Tensor, targets: &[f64]) -> Result<Tensor> {
        let column = |i: usize| outputs.narrow(1, i, 1)?.squeeze(1);
        let device = outputs.device();
        let y = || Tensor::new(targets, device)?.to_dtype(outputs.dtype());
        match self.head {
            Head::SquaredError => (column(0)? - y()?)?.sqr()?.mean_all(),
            Head::Gaussian => (self.answer.gaussian_nll)(&column(0)?, &column(1)?, &y()?),
            Head::Mixture => {
                let [logits, mean, log_std] =
                    [0, 1, 2].map(|i| outputs.narrow(1, i * COMPONENTS, COMPONENTS));
                (self.answer.mixture_nll)(&logits?, &mean?, &log_std?, &y()?)
            }
            Head::Bins(_) => {
                let bin = |y: &f64| (self.answer.bin_of)(&self.edges, *y) as u32;
                let bins: Vec<u32> = targets.iter().map(bin).collect();
                cross_entropy(outputs, &Tensor::new(bins, device)?, 0.0, None)
            }
        }
    }

    /// The forecast of one row of outputs.
    pub fn forecast(&self, row: &[f64]) -> Forecast {
        match self.head {
            Head::SquaredError => mixture(&[0.0], &row[..1], &[self.deviation.ln()]),
            Head::Gaussian => mixture(&[0.0], &row[..1], &row[1..]),
            Head::Mixture => {
                let (logits, rest) = row.split_at(COMPONENTS);
                let (mean, log_std) = rest.split_at(COMPONENTS);
                mixture(logits, mean, log_std)
            }
            Head::Bins(_) => Forecast::Bins {
                edges: self.edges.clone(),
                probabilities: softmax(row),
            },
        }
    }

    /// CRPS and summary, of bins by exercises 12.7 and 12.5.
    pub fn crps(&self, forecast: &Forecast, target: f64) -> f64 {
        match forecast {
            Forecast::Bins { edges, probabilities } => (self.answer.crps)(edges, probabilities, target),
            other => other.crps(target),
        }
    }

    pub fn summary(&self, forecast: &Forecast, coverage: f64) -> Summary {
        match forecast {
            Forecast::Bins { edges, probabilities } => {
                (self.answer.summarise)(edges, probabilities, coverage)
            }
            other => other.summary(coverage),
        }
    }
}

fn mixture(logits: &[f64], mean: &[f64], log_std: &[f64]) -> Forecast {
    let rest = mean.iter().zip(log_std);
    let component = |(weight, (&mean, log_std)): (f64, (&f64, &f64))| Component {
        weight,
        mean,
        std: log_std.exp(),
    };
    Forecast::Mixture(softmax(logits).into_iter().zip(rest).map(component).collect())
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = logits.iter().map(|l| (l - top).exp()).collect();
    let all: f64 = parts.iter().sum();
    parts.iter().map(|p| p / all).collect()
}
