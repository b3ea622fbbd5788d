//! Runs that predict a number: its true values, its forecasts and their scores.

use anyhow::{Context, Result};
use canopy_data::Dataset;
use serde::{Deserialize, Serialize};

use super::{Config, EvaluateOptions, Target, evaluate};
use crate::{
    model::PointNet,
    target::{Forecast, Head, bin_of, calibration, quantile_bins},
};

/// The nominal levels of a calibration table.
pub const LEVELS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// The level of the intervals that are printed.
pub const LEVEL: f64 = 0.9;

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
        let guess = Forecast::Bins {
            edges,
            probabilities: counts,
        };
        Ok(Some(Self {
            target,
            head,
            values,
            guess: Some(guess),
        }))
    }

    /// The number that a trained network with this head predicts of the trees in `data`.
    ///
    /// # Errors
    /// Returns an error if a value is unknown, or if the target is the species.
    pub fn of(target: Target, head: Head, data: &Dataset) -> Result<Self> {
        let values = target.values(data)?;
        Ok(Self {
            target,
            head,
            values: values.context("the run has a head for numbers, but predicts the species")?,
            guess: None,
        })
    }

    /// What the loss expects for each record.
    pub fn labels(&self) -> Vec<f32> {
        self.values.iter().map(|&v| self.head.label(v)).collect()
    }
}

/// The forecasts for some records.
#[derive(Clone, Debug)]
pub struct Forecasts {
    /// What is predicted.
    pub target: Target,
    /// The records.
    pub records: Vec<usize>,
    /// Their true values.
    pub truth: Vec<f64>,
    /// Their forecasts.
    pub forecasts: Vec<Forecast>,
    guess: Option<Forecast>,
    /// [`Head::log_unit`] of each true value.
    log_units: Vec<f64>,
}

/// The scores of forecasts on one part of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberScores {
    /// The part of the data: `train`, `validation`, `test`, `all`.
    pub part: String,
    /// What is predicted.
    pub target: Target,
    /// The unit of errors and scores.
    pub unit: String,
    /// Clouds that were evaluated.
    pub clouds: u64,
    /// Mean absolute error of the median.
    pub mae: f64,
    /// Root mean square error of the mean.
    pub rmse: f64,
    /// Continuous ranked probability score.
    pub crps: f64,
    /// That of a forecast that knows only the distribution of the training values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guess_crps: Option<f64>,
    /// Mean negative log-likelihood of the density per unit, nats.
    pub nll: f64,
    /// Nominal levels of central intervals, and the shares of true values inside them.
    pub calibration: Vec<(f64, f64)>,
}

/// The forecasts of `model` for `records` of the data set, whose categories are given if the network has an embedding.
/// Forecasts of several samples of a cloud are averaged. After every batch, `each` gets the number of clouds so far.
///
/// # Errors
/// Returns those of the loader, candle and `each`.
pub fn predict(
    model: &PointNet,
    (data, categories): (&Dataset, Option<&[u32]>),
    number: &Number,
    records: &[usize],
    options: &EvaluateOptions,
    each: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Forecasts> {
    let mut samples: Vec<Vec<Forecast>> = vec![Vec::new(); records.len()];
    evaluate::over_votes(
        data,
        records,
        options,
        &mut |batch| {
            let ids = categories.map(|of| batch.records.iter().map(|&r| of[r]).collect::<Vec<_>>());
            evaluate::batch_outputs(model, batch, ids.as_deref(), &options.pass)
        },
        &mut |place, row| samples[place].push(number.head.forecast(&row)),
        each,
    )?;
    let pooled = samples.iter().map(|of| Ok(Forecast::pool(of)?));
    Ok(Forecasts {
        target: number.target,
        records: records.to_vec(),
        truth: records.iter().map(|&r| number.values[r]).collect(),
        forecasts: pooled.collect::<Result<_>>()?,
        guess: number.guess.clone(),
        log_units: records
            .iter()
            .map(|&r| number.head.log_unit(number.values[r]))
            .collect(),
    })
}

/// A forecast beside the true value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberRow {
    /// The tree's name in its data set.
    pub tree: String,
    /// Its plot.
    pub plot: String,
    /// Where the cloud comes from.
    pub source: String,
    /// The true value.
    pub truth: f64,
    /// Mean of the forecast.
    pub mean: f64,
    /// Its median.
    pub median: f64,
    /// Lower end of its central interval of level [`LEVEL`].
    pub lower: f64,
    /// Upper end of this interval.
    pub upper: f64,
}

/// What the page of a run that predicts a number shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberReport {
    /// The scores.
    pub scores: NumberScores,
    /// The forecasts of the evaluated clouds.
    pub rows: Vec<NumberRow>,
}

impl Forecasts {
    /// The forecasts as numbers.
    pub fn rows(&self, data: &Dataset) -> Vec<NumberRow> {
        let row = |((&record, forecast), &truth): ((&usize, &Forecast), &f64)| {
            let (record, summary) = (&data.records[record], forecast.summary(LEVEL));
            NumberRow {
                tree: record.tree.clone(),
                plot: record.plot.clone(),
                source: record.source.clone(),
                truth,
                mean: summary.mean,
                median: summary.median,
                lower: summary.lower,
                upper: summary.upper,
            }
        };
        let pairs = self.records.iter().zip(&self.forecasts).zip(&self.truth);
        pairs.map(row).collect()
    }

    /// The mean of the loss that training minimises, to compare with that of the training clouds.
    pub fn loss(&self) -> f64 {
        let pairs = self.forecasts.iter().zip(&self.truth).zip(&self.log_units);
        let sum: f64 = pairs.map(|((f, &y), unit)| f.nll(y) - unit).sum();
        sum / self.truth.len().max(1) as f64
    }

    /// All scores; `part` is the name of the part of the data.
    pub fn scores(&self, part: &str) -> NumberScores {
        let pairs = || self.forecasts.iter().zip(self.truth.iter().copied());
        let n = self.truth.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Forecast, f64) -> f64| pairs().map(|(f, y)| of(f, y)).sum::<f64>() / n;
        let pits: Vec<f64> = pairs().map(|(f, y)| f.cdf(y)).collect();
        let shares = calibration(&pits, &LEVELS);
        let guess = self.guess.as_ref();
        NumberScores {
            part: part.to_owned(),
            target: self.target,
            unit: self.target.unit().to_owned(),
            clouds: self.truth.len() as u64,
            mae: mean(&|f, y| (f.summary(LEVEL).median - y).abs()),
            rmse: mean(&|f, y| (f.summary(LEVEL).mean - y).powi(2)).sqrt(),
            crps: mean(&Forecast::crps),
            guess_crps: guess.map(|guess| self.truth.iter().map(|&y| guess.crps(y)).sum::<f64>() / n),
            nll: mean(&Forecast::nll),
            calibration: LEVELS.into_iter().zip(shares).collect(),
        }
    }
}

impl NumberScores {
    /// The scores as text, within 80 columns.
    pub fn text(&self) -> String {
        let Self {
            part, target, unit, ..
        } = self;
        let guess = self.guess_crps.map_or(String::new(), |guess| {
            format!(" (from the training values alone {guess:.3} {unit})")
        });
        let mut out = format!(
            "{part}: {target} of {} clouds\n\
             mean absolute error of the median  {:.3} {unit}\n\
             root mean square error of the mean {:.3} {unit}\n\
             CRPS {:.3} {unit}{guess}\n\
             negative log-likelihood {:.3} nats\n\n\
             central interval  true values inside\n",
            self.clouds, self.mae, self.rmse, self.crps, self.nll
        );
        for (level, share) in &self.calibration {
            out += &format!("{:>14.0} %  {:>16.1} %\n", 100.0 * level, 100.0 * share);
        }
        out
    }
}
