//! Output of `canopy predict`: a table, CSV or JSON, printed as the predictions arrive.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::inputs::Input;
use crate::{
    target::Forecast,
    train::{Config, Target, metrics, numbers::LEVEL},
};

/// What is printed of one cloud.
pub struct Row {
    /// Its fields, which are also the columns of CSV.
    json: Value,
    /// The titles of the table, and its line.
    table: [String; 2],
    /// 1 for the right species and 0 for another one, or how far off a number is; `None` if the truth is unknown.
    score: Option<f64>,
}

impl Row {
    /// The species with probabilities `p`; beside the label, if any input has one.
    pub fn of_species(input: &Input, p: &[f32], species: &[String], labelled: bool) -> Self {
        let first = metrics::argmax(p);
        let predicted = &species[first];
        let mut json = json!({"file": input.name, "species": predicted});
        if labelled {
            json["label"] = json!(input.label);
        }
        let probabilities = species.iter().cloned().zip(p.iter().map(|p| json!(p)));
        json["probabilities"] = probabilities.collect::<Map<_, _>>().into();
        let known = input.label.as_ref().filter(|label| species.contains(label));
        let others = (0..p.len()).filter(|&i| i != first);
        let (title, last) = match labelled {
            true => ("label", input.label.clone()),
            false => {
                let second = others.reduce(|a, b| if p[b] > p[a] { b } else { a });
                let text = |i: usize| format!("{} {:.0}%", species[i], 100.0 * p[i]);
                ("second", second.map(text))
            }
        };
        let (file, percent, last) = (short(&input.name), 100.0 * p[first], last.unwrap_or_default());
        Self {
            json,
            table: [
                format!("{:<36}  {:<16}  {:>4}  {title}", "file", "species", "p"),
                format!("{file:<36}  {predicted:<16}  {percent:>3.0}%  {last}"),
            ],
            score: known.map(|label| f64::from(u8::from(label == predicted))),
        }
    }

    /// The forecast of a number.
    pub fn of_number(input: &Input, forecast: &Forecast, target: Target) -> Self {
        let (f, unit, truth) = (forecast.summary(LEVEL), target.unit(), input.truth(target));
        let (median, file) = (f.median, short(&input.name));
        let interval = format!("{:.2} to {:.2}", f.lower, f.upper);
        let known = truth.map_or(String::new(), |y| format!("{y:.2}"));
        let column = format!("{target} ({unit})");
        let percent = format!("{:.0} % interval", 100.0 * LEVEL);
        Self {
            json: json!({"file": input.name, "target": target, "unit": unit, "mean": f.mean,
                "median": median, "lower": f.lower, "upper": f.upper, "level": LEVEL, "truth": truth}),
            table: [
                format!("{:<36}  {column:>13}  {percent:>16}  {:>6}", "file", "true"),
                format!("{file:<36}  {median:>13.2}  {interval:>16}  {known:>6}"),
            ],
            score: truth.map(|y| (median - y).abs()),
        }
    }
}

/// Prints rows as they arrive, and how they compare with the true values at the end: in CSV on standard error.
#[derive(Default)]
pub struct Printer<'a> {
    /// `table`, `csv` or `json`.
    pub format: &'a str,
    pub rows: usize,
    /// Rows with a label, which the model may not know.
    pub labels: usize,
    /// The sum of the scores and their number.
    pub scores: (f64, usize),
}

impl Printer<'_> {
    pub fn row(&mut self, row: &Row) -> Result<()> {
        let mut out = io::stdout().lock();
        let first = self.rows == 0;
        self.rows += 1;
        self.labels += usize::from(row.json["label"].is_string());
        self.scores.0 += row.score.unwrap_or(0.0);
        self.scores.1 += usize::from(row.score.is_some());
        match self.format {
            "csv" => {
                let (titles, cells): (Vec<_>, Vec<_>) = columns(&row.json).into_iter().unzip();
                let mut csv = csv::Writer::from_writer(out);
                if first {
                    csv.write_record(titles)?;
                }
                csv.write_record(cells)?;
                csv.flush()?;
            }
            "json" => writeln!(out, "{}{}", if first { "{\"clouds\": [" } else { "," }, row.json)?,
            _ => {
                for line in &row.table[usize::from(!first)..] {
                    writeln!(out, "{}", line.trim_end())?;
                }
            }
        }
        Ok(())
    }

    /// Ends the output of a run with this configuration.
    pub fn end(self, config: &Config) -> Result<()> {
        let (sum, of) = self.scores;
        let mean = (of > 0).then(|| sum / of as f64);
        let (key, value, text) = match config.target {
            Target::Species => {
                let unknown = self.labels - of;
                let mut text = match mean {
                    None => "accuracy unknown: the model knows none of the labels".to_owned(),
                    Some(share) => format!("accuracy {:.1} %: {sum} of {of} clouds", 100.0 * share),
                };
                if unknown > 0 {
                    text +=
                        &format!("; not counted: {unknown} clouds of species that the model does not know");
                }
                let value =
                    json!({"value": mean, "correct": sum as u64, "of": of, "unknown_species": unknown});
                ("accuracy", (self.labels > 0).then_some(value), text)
            }
            target => {
                let (unit, error) = (target.unit(), mean.unwrap_or_default());
                let mut text =
                    format!("mean absolute error of the median {error:.3} {unit} over {of} clouds");
                if config.visible < 1.0 {
                    text += ", which are predicted whole; the run was trained on parts of trees";
                }
                let value = mean.map(|error| json!({"value": error, "of": of}));
                ("mean_absolute_error", value, text)
            }
        };
        let mut out = io::stdout().lock();
        match self.format {
            "json" => {
                let begin = if self.rows == 0 { "{\"clouds\": [" } else { "" };
                writeln!(out, "{begin}], \"{key}\": {}}}", json!(value))?;
            }
            _ if value.is_none() => {}
            "csv" => note!("{text}"),
            _ => writeln!(out, "{text}")?,
        }
        Ok(())
    }
}

/// Titles and cells of CSV: the fields, and one column for each probability.
fn columns(fields: &Value) -> Vec<(String, String)> {
    let cell = |value: &Value| match value {
        Value::Number(n) => n.as_f64().map_or(String::new(), |n| format!("{n:.4}")),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let columns = |(name, value): (&String, &Value)| match value {
        Value::Object(each) => each.iter().map(|(s, p)| (format!("p({s})"), cell(p))).collect(),
        value => vec![(name.clone(), cell(value))],
    };
    fields
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(columns)
        .collect()
}

/// A name in at most 40 characters, its last ones.
fn short(name: &str) -> String {
    let count = name.chars().count();
    match count {
        0..=36 => name.to_owned(),
        _ => format!("…{}", name.chars().skip(count - 35).collect::<String>()),
    }
}
