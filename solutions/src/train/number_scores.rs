//! The scores of forecasts of a number.

use std::fmt;

use serde::Serialize;

use super::Target;
use crate::target::Summary;

/// The level of the intervals that are printed.
pub const LEVEL: f64 = 0.9;

/// The scores of forecasts on one part of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess_crps: Option<f64>,
    /// Mean negative log-likelihood of the density per unit, nats.
    pub nll: f64,
    /// Nominal levels of central intervals, and the shares of true values inside them.
    pub calibration: Vec<(f64, f64)>,
    /// The mean of the loss that training minimises, to compare with that of the training clouds.
    #[serde(skip)]
    pub loss: f64,
}

/// A forecast beside the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRow {
    /// The true value.
    pub truth: f64,
    /// The forecast, with the central interval of level [`LEVEL`].
    pub forecast: Summary,
}

/// What the page of a run that predicts a number shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumberReport {
    /// The scores.
    pub scores: NumberScores,
    /// The forecasts of the evaluated clouds.
    pub rows: Vec<NumberRow>,
}

impl fmt::Display for NumberScores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            part, target, unit, ..
        } = self;
        let guess = self.guess_crps.map_or(String::new(), |guess| {
            format!(" (from the training values alone {guess:.3} {unit})")
        });
        write!(
            f,
            "{part}: {target} of {} clouds\n\
             mean absolute error of the median  {:.3} {unit}\n\
             root mean square error of the mean {:.3} {unit}\n\
             CRPS {:.3} {unit}{guess}\n\
             negative log-likelihood {:.3} nats\n\n\
             central interval  true values inside\n",
            self.clouds, self.mae, self.rmse, self.crps, self.nll
        )?;
        for (level, share) in &self.calibration {
            writeln!(f, "{:>14.0} %  {:>16.1} %", 100.0 * level, 100.0 * share)?;
        }
        Ok(())
    }
}
