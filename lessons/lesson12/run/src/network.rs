//! A small network, its head, and the scores of its forecasts.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, ops::softmax};
use canopy::{
    kernels::cross_entropy,
    target::{Component, Forecast},
};
use canopy_data::Philox;
use lesson12::Lesson12;

use crate::forests::ForestKind;

/// Trees to train on, and trees to score the forecasts.
pub const TRAINED: usize = 4000;
pub const SCORED: usize = 2000;
pub const EPOCHS: usize = 30;
const BATCH: usize = 100;
const HIDDEN: usize = 32;
/// Components of a mixture, and bins.
const COMPONENTS: usize = 5;
const BINS: usize = 20;
/// Targets are trained in this unit, from this origin, so that they are near 1.
const UNIT: f64 = 6.0;
const ORIGIN: f64 = 18.0;

/// What the outputs of a network mean.
#[derive(Clone, Copy, PartialEq)]
pub enum Head {
    /// A number, trained with the squared error. Its forecast is a Gaussian with the root mean square error of the
    /// training set.
    SquaredError,
    /// μ and ln σ.
    Gaussian,
    /// Logits, μ and ln σ of each component.
    Mixture,
    /// A logit for each bin.
    Bins,
}

impl Head {
    pub const ALL: [Self; 4] = [Self::SquaredError, Self::Gaussian, Self::Mixture, Self::Bins];

    pub fn name(self) -> &'static str {
        match self {
            Self::SquaredError => "squared error",
            Self::Gaussian => "Gaussian",
            Self::Mixture => "mixture of 5",
            Self::Bins => "20 bins",
        }
    }
}

/// A trained network.
pub struct Network {
    answer: Lesson12,
    head: Head,
    /// Weights and bias of each layer.
    params: Vec<Var>,
    edges: Vec<f64>,
    /// The deviation of the forecast of `SquaredError`.
    deviation: f64,
}

impl Network {
    /// Trains with Adam, whose rate falls to 0.
    pub fn train(answer: &Lesson12, (head, forest): (Head, ForestKind), seed: u64) -> Result<Self> {
        let (x, y) = forest.draw(TRAINED, &mut Philox::new(seed, 1));
        let targets: Vec<f64> = y.iter().map(|y| (y - ORIGIN) / UNIT).collect();
        let edges = (answer.quantile_bins)(&targets, BINS);
        let outputs = match head {
            Head::SquaredError => 1,
            Head::Gaussian => 2,
            Head::Mixture => 3 * COMPONENTS,
            Head::Bins => edges.len() - 1,
        };
        let mut random = Philox::new(seed, 2);
        let mut params = Vec::new();
        for (from, to) in [(1, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, outputs)] {
            // Random biases: hidden units bend at different places.
            for shape in [vec![from, to], vec![to]] {
                let mut one = |_| (random.normal() / (from as f64).sqrt()) as f32;
                let numbers = (0..shape.iter().product()).map(&mut one).collect::<Vec<f32>>();
                params.push(Var::from_vec(numbers, shape, &Device::Cpu)?);
            }
        }
        let mut network = Self {
            answer: *answer,
            head,
            params,
            edges,
            deviation: 1.0,
        };
        let without_decay = ParamsAdamW {
            weight_decay: 0.0,
            ..ParamsAdamW::default()
        };
        let mut adam = AdamW::new(network.params.clone(), without_decay)?;
        let mut order: Vec<usize> = (0..TRAINED).collect();
        let (mut step, steps) = (0, EPOCHS * TRAINED / BATCH);
        for _ in 0..EPOCHS {
            random.shuffle(&mut order);
            for batch in order.chunks(BATCH) {
                let of = |list: &[f64]| batch.iter().map(|&i| list[i]).collect::<Vec<f64>>();
                adam.set_learning_rate(0.01 * (1.0 - f64::from(step) / steps as f64));
                adam.backward_step(&network.loss(&network.outputs(&of(&x))?, &of(&targets))?)?;
                step += 1;
            }
        }
        let rows = network.rows(&x)?;
        let squared = rows.iter().zip(&targets).map(|(row, y)| (row[0] - y).powi(2));
        network.deviation = (squared.sum::<f64>() / TRAINED as f64).sqrt();
        Ok(network)
    }

    fn outputs(&self, x: &[f64]) -> Result<Tensor> {
        let mut h = Tensor::new(x, &Device::Cpu)?.to_dtype(DType::F32)?.unsqueeze(1)?;
        for (i, layer) in self.params.chunks(2).enumerate() {
            h = if i > 0 { h.tanh()? } else { h };
            h = h.matmul(&layer[0])?.broadcast_add(&layer[1])?;
        }
        Ok(h)
    }

    fn rows(&self, x: &[f64]) -> Result<Vec<Vec<f64>>> {
        Ok(self.outputs(x)?.to_dtype(DType::F64)?.to_vec2()?)
    }

    /// The loss of outputs, [n, outputs], for targets.
    fn loss(&self, outputs: &Tensor, targets: &[f64]) -> candle_core::Result<Tensor> {
        let column = |i: usize| outputs.narrow(1, i, 1)?.squeeze(1);
        let part = |i: usize| outputs.narrow(1, i * COMPONENTS, COMPONENTS);
        let y = Tensor::new(targets, &Device::Cpu)?.to_dtype(DType::F32)?;
        match self.head {
            Head::SquaredError => (column(0)? - y)?.sqr()?.mean_all(),
            Head::Gaussian => (self.answer.gaussian_nll)(&column(0)?, &column(1)?, &y),
            Head::Mixture => (self.answer.mixture_nll)(&part(0)?, &part(1)?, &part(2)?, &y),
            Head::Bins => {
                let bin = |y: &f64| (self.answer.bin_of)(&self.edges, *y) as u32;
                let bins: Vec<u32> = targets.iter().map(bin).collect();
                cross_entropy(outputs, &Tensor::new(bins, &Device::Cpu)?, 0.0, None)
            }
        }
    }

    /// The forecasts for `x`, in the unit of training.
    fn forecasts(&self, x: &[f64]) -> Result<Vec<Forecast>> {
        let rows = self.rows(x)?;
        rows.iter().map(|row| self.forecast(row)).collect()
    }

    fn forecast(&self, row: &[f64]) -> Result<Forecast> {
        let shares = |logits: &[f64]| softmax(&Tensor::new(logits, &Device::Cpu)?, 0)?.to_vec1();
        let component = |weight: f64, mean: f64, std: f64| Component { weight, mean, std };
        Ok(match self.head {
            Head::SquaredError => Forecast::Mixture(vec![component(1.0, row[0], self.deviation)]),
            Head::Gaussian => Forecast::Mixture(vec![component(1.0, row[0], row[1].exp())]),
            Head::Mixture => {
                let weights = shares(&row[..COMPONENTS])?;
                let of = |j: usize| component(weights[j], row[COMPONENTS + j], row[2 * COMPONENTS + j].exp());
                Forecast::Mixture((0..COMPONENTS).map(of).collect())
            }
            Head::Bins => Forecast::Bins {
                edges: self.edges.clone(),
                probabilities: shares(row)?,
            },
        })
    }

    /// The density at `y` that the network predicts for `x`.
    pub fn density(&self, x: f64, y: f64) -> Result<f64> {
        let forecast = &self.forecasts(&[x])?[0];
        let cdf = |y: f64| forecast.cdf((y - ORIGIN) / UNIT);
        Ok((cdf(y + 0.01) - cdf(y - 0.01)) / 0.02)
    }

    /// The mean NLL in nats over targets that were not trained on, and the shares of them within the central intervals of
    /// 50 % and 90 %, by exercise 12.6.
    pub fn score(&self, x: &[f64], y: &[f64]) -> Result<[f64; 3]> {
        let (mut nll, mut pits) = (0.0, Vec::new());
        for (forecast, y) in self.forecasts(x)?.iter().zip(y) {
            let at = (y - ORIGIN) / UNIT;
            nll += (forecast.nll(at) + UNIT.ln()) / x.len() as f64;
            pits.push(forecast.cdf(at));
        }
        let inside = (self.answer.calibration)(&pits, &[0.5, 0.9]);
        Ok([nll, inside[0], inside[1]])
    }
}
