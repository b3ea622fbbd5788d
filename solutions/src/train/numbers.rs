//! Runs that predict a number: its true values, its forecasts and their scores.

use anyhow::{Context, Result};
use candle_core::{DType, Tensor};
use canopy_data::Dataset;

pub use super::number_scores::{LEVEL, NumberReport, NumberRow, NumberScores};
use super::{
    Config, EpochRow, MicroBatch, Target,
    task::{Part, Task},
};
use crate::{
    model::PointNet,
    target::{Forecast, Head, bin_of, calibration, quantile_bins},
};

/// The nominal levels of a calibration table.
pub const LEVELS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Bins of the forecast that knows only the training values.
const GUESS_BINS: usize = 50;

/// The number that a run predicts.
#[derive(Clone, Debug)]
pub struct Number {
    /// Which one.
    pub target: Target,
    /// How outputs describe it.
    pub head: Head,
    /// The true value of each record.
    pub values: Vec<f64>,
    /// The distribution of the training values: the forecast without a look at the tree.
    pub guess: Option<Forecast>,
}

impl Number {
    /// The number that `config` predicts, with a head for the values of the records `train`. `None` if it predicts the
    /// species.
    ///
    /// # Errors
    /// Returns an error if a value is unknown, and the errors of [`Head::fit`].
    pub fn fit(config: &Config, data: &Dataset, train: &[usize]) -> Result<Option<Self>> {
        let target = config.target;
        let Some(values) = target.values(data)? else {
            return Ok(None);
        };
        let known: Vec<f64> = train.iter().map(|&r| values[r]).collect();
        let head = Head::fit(config.head, config.components, config.bins, &known)
            .with_context(|| format!("--target {target}"))?;
        let edges = quantile_bins(&known, GUESS_BINS.min(known.len()));
        // Bins with equally many values, unless edges have merged.
        let mut counts = vec![0.0; edges.len() - 1];
        known.iter().for_each(|&v| counts[bin_of(&edges, v)] += 1.0);
        Ok(Some(Self {
            target,
            head,
            values,
            guess: Some(Forecast::Bins {
                edges,
                probabilities: counts,
            }),
        }))
    }

    /// The number that a trained network with this head predicts of the trees in `data`.
    ///
    /// # Errors
    /// Returns an error if a value is unknown, or if the target is the species.
    pub fn of(target: Target, head: Head, data: &Dataset) -> Result<Self> {
        let values = target.values(data)?;
        let values = values.context("the run has a head for numbers, but predicts the species")?;
        let guess = None;
        Ok(Self {
            target,
            head,
            values,
            guess,
        })
    }

    /// The forecasts for a part beside the true values.
    pub fn rows(&self, part: &Part, forecasts: &[Forecast]) -> Vec<NumberRow> {
        let pairs = part.records.iter().zip(forecasts);
        let row = |(&record, forecast): (&usize, &Forecast)| NumberRow {
            truth: self.values[record],
            forecast: forecast.summary(LEVEL),
        };
        pairs.map(row).collect()
    }
}

impl Task for Number {
    type Prediction = Forecast;
    type Scores = NumberScores;

    fn outputs(&self, model: &PointNet, clouds: &MicroBatch) -> Result<Tensor> {
        let categories = clouds.categories.as_deref();
        let output = model.forward_with(&clouds.points, None, categories, &clouds.pass)?;
        Ok(output.logits.detach().to_dtype(DType::F32)?)
    }

    fn prediction(&self, samples: &[Vec<f32>]) -> Result<Forecast> {
        let forecasts: Vec<Forecast> = samples.iter().map(|row| self.head.forecast(row)).collect();
        Ok(Forecast::pool(&forecasts)?)
    }

    fn scores(&self, part: &Part, forecasts: &[Forecast]) -> NumberScores {
        let truth = || part.records.iter().map(|&r| self.values[r]);
        let pairs = || forecasts.iter().zip(truth());
        let n = part.records.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Forecast, f64) -> f64| pairs().map(|(f, y)| of(f, y)).sum::<f64>() / n;
        let rows = self.rows(part, forecasts);
        let error = |of: fn(&NumberRow) -> f64| rows.iter().map(of).sum::<f64>() / n;
        let pits: Vec<f64> = pairs().map(|(f, y)| f.cdf(y)).collect();
        NumberScores {
            part: part.name.to_owned(),
            target: self.target,
            unit: self.target.unit().to_owned(),
            clouds: part.records.len() as u64,
            mae: error(|row| (row.forecast.median - row.truth).abs()),
            rmse: error(|row| (row.forecast.mean - row.truth).powi(2)).sqrt(),
            crps: mean(&Forecast::crps),
            guess_crps: (self.guess.as_ref()).map(|guess| truth().map(|y| guess.crps(y)).sum::<f64>() / n),
            nll: mean(&Forecast::nll),
            calibration: LEVELS.into_iter().zip(calibration(&pits, &LEVELS)).collect(),
            loss: mean(&|f, y| f.nll(y) - self.head.log_unit(y)),
        }
    }

    fn row(&self, data: &Dataset, record: usize, forecast: &Forecast) -> Vec<(String, String)> {
        let (f, of) = (forecast.summary(LEVEL), &data.records[record]);
        let number = |value: f64| format!("{value:?}");
        let row = [
            ("tree", of.tree.clone()),
            ("plot", of.plot.clone()),
            ("source", of.source.clone()),
            ("truth", number(self.values[record])),
            ("mean", number(f.mean)),
            ("median", number(f.median)),
            ("lower", number(f.lower)),
            ("upper", number(f.upper)),
        ];
        row.map(|(title, cell)| (title.to_owned(), cell)).into()
    }

    fn log(&self, scores: &NumberScores, row: &mut EpochRow) {
        row.val_loss = Some(scores.loss);
        row.val_crps = Some(scores.crps);
        row.val_error = Some(scores.mae);
    }
}
