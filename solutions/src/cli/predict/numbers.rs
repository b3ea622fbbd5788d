//! Output of `canopy predict` for a run that predicts a number: a table, CSV or JSON.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Value, json};

use super::{inputs::Input, print::short};
use crate::{
    target::Forecast,
    train::{Config, Target, numbers::LEVEL},
};

/// Prints forecasts as they arrive, and their mean absolute error at the end.
pub struct NumberPrinter<'a> {
    format: &'a str,
    target: Target,
    visible: f64,
    rows: usize,
    /// Absolute errors of the medians of the clouds whose true value is known.
    errors: Vec<f64>,
}

impl<'a> NumberPrinter<'a> {
    /// Prints the forecasts of a run with `config` in `format`.
    pub fn new(format: &'a str, config: &Config) -> Self {
        Self {
            format,
            target: config.target,
            visible: config.visible,
            rows: 0,
            errors: Vec::new(),
        }
    }

    /// Prints the forecast of one cloud, and the true value if it is known.
    pub fn row(&mut self, input: &Input, forecast: &Forecast) -> Result<()> {
        let (summary, unit) = (forecast.summary(LEVEL), self.target.unit());
        let truth = input.truth(self.target);
        self.errors.extend(truth.map(|y| (summary.median - y).abs()));
        let numbers = [summary.mean, summary.median, summary.lower, summary.upper];
        let mut out = io::stdout().lock();
        match self.format {
            "csv" => {
                let mut csv = csv::Writer::from_writer(out);
                if self.rows == 0 {
                    csv.write_record(["file", "mean", "median", "lower", "upper", "truth"])?;
                }
                let numbers = numbers.iter().map(|v| format!("{v:.4}"));
                let truth = truth.map_or(String::new(), |y| format!("{y:.4}"));
                csv.write_record([input.name.clone()].into_iter().chain(numbers).chain([truth]))?;
                csv.flush()?;
            }
            "json" => {
                let open = if self.rows == 0 { "{\"clouds\": [" } else { "," };
                let [mean, median, lower, upper] = numbers;
                let row = json!({"file": input.name, "target": self.target, "unit": unit, "mean": mean,
                    "median": median, "lower": lower, "upper": upper, "level": LEVEL, "truth": truth});
                writeln!(out, "{open}{row}")?;
            }
            _ => {
                if self.rows == 0 {
                    let (target, level) = (format!("{} ({unit})", self.target), 100.0 * LEVEL);
                    let interval = format!("{level:.0} % interval");
                    writeln!(out, "{:<40}  {target:>13}  {interval:>16}  {:>6}", "file", "true")?;
                }
                let interval = format!("{:.2} to {:.2}", summary.lower, summary.upper);
                let truth = truth.map_or(String::new(), |y| format!("{y:.2}"));
                let line = format!(
                    "{:<40}  {:>13.2}  {interval:>16}  {truth:>6}",
                    short(&input.name),
                    summary.median
                );
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Prints the mean absolute error if true values are known: in CSV on standard error.
    pub fn end(self) -> Result<()> {
        let mut out = io::stdout().lock();
        let count = self.errors.len();
        let error = (count > 0).then(|| self.errors.iter().sum::<f64>() / count as f64);
        if self.format == "json" {
            let begin = if self.rows == 0 { "{\"clouds\": [" } else { "" };
            let value = error.map_or(Value::Null, |e| json!({"value": e, "of": count}));
            writeln!(out, "{begin}], \"mean_absolute_error\": {value}}}")?;
            return Ok(());
        }
        let Some(error) = error else { return Ok(()) };
        let mut text = format!(
            "mean absolute error of the median {error:.3} {} over {count} clouds",
            self.target.unit()
        );
        if self.visible < 1.0 {
            text += ", which are predicted whole; the run was trained on parts of trees";
        }
        match self.format {
            "csv" => eprintln!("{text}"),
            _ => writeln!(out, "{text}")?,
        }
        Ok(())
    }
}
