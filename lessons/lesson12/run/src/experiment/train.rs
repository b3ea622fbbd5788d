//! Trainings of a small network, one for each forest, head and seed.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use canopy::{
    optim::{AdamConfig, AdamState, adam_step},
    target::Forecast,
};
use canopy_data::Philox;
use lesson12::Lesson12;

use super::{
    forests::{ForestKind, Sample},
    heads::{Fitted, Head},
};

/// Trees to train on, and trees to score the forecasts.
pub const TRAINED: usize = 4000;
pub const SCORED: usize = 2000;
pub const EPOCHS: usize = 30;
const BATCH: usize = 100;
const HIDDEN: usize = 32;
/// Targets are trained in this unit, from this origin, so that they are near 1.
const UNIT: f64 = 6.0;
const ORIGIN: f64 = 18.0;
/// Nominal levels of the calibration plot.
pub const LEVELS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// What a forecast scored over the held-out trees.
#[derive(Clone, Debug)]
pub struct Scores {
    /// Means, in nats and in the target's unit.
    pub nll: f64,
    pub crps: f64,
    /// Of the median.
    pub error: f64,
    /// The share of targets within the central interval, by level.
    pub coverage: Vec<f64>,
}

/// A trained network and its head.
pub struct Network {
    layers: Vec<(Var, Var)>,
    head: Fitted,
}

impl Network {
    fn new(head: Fitted, random: &mut Philox) -> Result<Self> {
        let widths = [1, HIDDEN, HIDDEN, head.outputs()];
        let layer = |w: &[usize]| {
            let mut one = || (random.normal() / (w[0] as f64).sqrt()) as f32;
            let weights: Vec<f32> = (0..w[0] * w[1]).map(|_| one()).collect();
            let weights = Var::from_vec(weights, (w[0], w[1]), &Device::Cpu)?;
            // Hidden units bend at different places.
            let bias: Vec<f32> = (0..w[1]).map(|_| one()).collect();
            Ok((weights, Var::from_vec(bias, w[1], &Device::Cpu)?))
        };
        let layers = widths.windows(2).map(layer).collect::<Result<_>>()?;
        Ok(Self { layers, head })
    }

    fn params(&self) -> Vec<Var> {
        let both = |(w, b): &(Var, Var)| [w.clone(), b.clone()];
        self.layers.iter().flat_map(both).collect()
    }

    fn outputs(&self, x: &[f64]) -> candle_core::Result<Tensor> {
        let mut h = Tensor::new(x, &Device::Cpu)?.to_dtype(DType::F32)?.unsqueeze(1)?;
        for (i, (w, b)) in self.layers.iter().enumerate() {
            h = h.matmul(w)?.broadcast_add(b)?;
            if i + 1 < self.layers.len() {
                h = h.tanh()?;
            }
        }
        Ok(h)
    }

    /// Trains with Adam, whose rate falls to 0.
    pub fn train(answer: &Lesson12, forest: ForestKind, head: &Head, seed: u64) -> Result<Self> {
        let sample = Sample::draw(forest, TRAINED, &mut Philox::new(seed, 1));
        let targets: Vec<f64> = sample.y.iter().map(|y| (y - ORIGIN) / UNIT).collect();
        let mut random = Philox::new(seed, 2);
        let mut network = Self::new(Fitted::new(answer, head, &targets), &mut random)?;
        let params = network.params();
        let mut state = AdamState::zeros_like(params.iter())?;
        let mut order: Vec<usize> = (0..TRAINED).collect();
        let (mut step, steps) = (0, EPOCHS * TRAINED / BATCH);
        for _ in 0..EPOCHS {
            random.shuffle(&mut order);
            for batch in order.chunks(BATCH) {
                let of = |list: &[f64]| batch.iter().map(|&i| list[i]).collect::<Vec<f64>>();
                let loss = network
                    .head
                    .loss(&network.outputs(&of(&sample.x))?, &of(&targets))?;
                let grads = loss.backward()?;
                let zero = |p: &Var| grads.get(p).cloned().map_or_else(|| p.zeros_like(), Ok);
                let grads = params.iter().map(zero).collect::<candle_core::Result<Vec<_>>>()?;
                let lr = 0.01 * (1.0 - f64::from(step) / steps as f64);
                adam_step(&params, &grads, &mut state, lr, &AdamConfig::default())?;
                step += 1;
            }
        }
        let squared = (0..TRAINED)
            .zip(network.rows(&sample.x)?)
            .map(|(i, row)| (row[0] - targets[i]).powi(2));
        network.head.deviation = (squared.sum::<f64>() / TRAINED as f64).sqrt();
        Ok(network)
    }

    fn rows(&self, x: &[f64]) -> Result<Vec<Vec<f64>>> {
        Ok(self.outputs(x)?.to_dtype(DType::F64)?.to_vec2()?)
    }

    /// The forecasts for `x`, in the unit of training.
    pub fn forecasts(&self, x: &[f64]) -> Result<Vec<Forecast>> {
        Ok(self.rows(x)?.iter().map(|row| self.head.forecast(row)).collect())
    }

    /// The density that a forecast gives to `y`.
    pub fn density(&self, forecast: &Forecast, y: f64) -> f64 {
        let at = (y - ORIGIN) / UNIT;
        let outside = match forecast {
            Forecast::Bins { edges, .. } => at < edges[0] || at > edges[edges.len() - 1],
            Forecast::Mixture { .. } => false,
        };
        if outside {
            0.0
        } else {
            (-forecast.nll(at)).exp() / UNIT
        }
    }

    /// The mean and the median that a forecast gives.
    pub fn mean(&self, forecast: &Forecast) -> f64 {
        ORIGIN + UNIT * self.head.summary(forecast, 0.5).mean
    }

    /// The scores over trees that were not trained on, with calibration by exercise 12.6.
    pub fn score(&self, answer: &Lesson12, sample: &Sample) -> Result<Scores> {
        let (mut nll, mut crps, mut error) = (0.0, 0.0, 0.0);
        let mut pits = Vec::new();
        for (forecast, y) in self.forecasts(&sample.x)?.iter().zip(&sample.y) {
            let at = (y - ORIGIN) / UNIT;
            nll += forecast.nll(at) + UNIT.ln();
            crps += UNIT * self.head.crps(forecast, at);
            error += UNIT * (self.head.summary(forecast, 0.5).median - at).abs();
            pits.push(forecast.cdf(at));
        }
        let n = sample.y.len() as f64;
        Ok(Scores {
            nll: nll / n,
            crps: crps / n,
            error: error / n,
            coverage: (answer.calibration)(&pits, &LEVELS),
        })
    }
}

/// The held-out trees of a seed.
pub fn held_out(forest: ForestKind, seed: u64) -> Sample {
    Sample::draw(forest, SCORED, &mut Philox::new(seed, 3))
}
