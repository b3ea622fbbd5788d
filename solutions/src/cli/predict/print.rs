//! Output of `canopy predict`: a table, CSV or JSON, printed as the predictions arrive.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::inputs::Input;
use crate::{
    target::Forecast,
    train::{Target, metrics, numbers::LEVEL},
};

/// What is printed of one cloud.
pub struct Row {
    /// Its fields, which are also the columns of CSV.
    json: Value,
    /// The titles of the table, and its line.
    table: [String; 2],
}

/// What is printed of predictions, and how they compare with the true values.
pub trait Shown<P> {
    /// The row of a cloud, which is also counted.
    fn row(&mut self, input: &Input, prediction: &P) -> Row;

    /// The comparison with the true values of all rows: its key and value in JSON, and as text, if there is any.
    fn comparison(&self) -> (&'static str, Value, Option<String>);
}

/// The species of clouds.
#[derive(Default)]
pub struct ShownSpecies<'a> {
    /// Those that the model knows.
    pub species: &'a [String],
    /// Whether any input has a label.
    pub labelled: bool,
    /// Clouds with a label that the model can predict, and correct predictions among them.
    pub comparable: usize,
    pub correct: usize,
    /// Clouds of species that the model does not know.
    pub unknown: usize,
}

impl Shown<Vec<f32>> for ShownSpecies<'_> {
    fn row(&mut self, input: &Input, p: &Vec<f32>) -> Row {
        let first = metrics::argmax(p);
        let predicted = &self.species[first];
        let mut json = json!({"file": input.name, "species": predicted});
        if self.labelled {
            json["label"] = json!(input.label);
        }
        let probabilities = self.species.iter().cloned().zip(p.iter().map(|p| json!(p)));
        json["probabilities"] = probabilities.collect::<Map<_, _>>().into();
        if let Some(label) = &input.label {
            let known = self.species.contains(label);
            self.comparable += usize::from(known);
            self.unknown += usize::from(!known);
            self.correct += usize::from(label == predicted);
        }
        let mut others: Vec<usize> = (0..p.len()).filter(|&i| i != first).collect();
        others.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
        let (title, last) = match (self.labelled, others.first()) {
            (true, _) => ("label", input.label.clone().unwrap_or_default()),
            (false, Some(&i)) => ("second", format!("{} {:.0}%", self.species[i], 100.0 * p[i])),
            (false, None) => ("second", String::new()),
        };
        let (file, percent) = (short(&input.name), 100.0 * p[first]);
        Row {
            json,
            table: [
                format!("{:<36}  {:<16}  {:>4}  {title}", "file", "species", "p"),
                format!("{file:<36}  {predicted:<16}  {percent:>3.0}%  {last}"),
            ],
        }
    }

    fn comparison(&self) -> (&'static str, Value, Option<String>) {
        if !self.labelled {
            return ("accuracy", Value::Null, None);
        }
        let (correct, comparable, unknown) = (self.correct, self.comparable, self.unknown);
        let accuracy = (comparable > 0).then(|| correct as f64 / comparable as f64);
        let json =
            json!({"value": accuracy, "correct": correct, "of": comparable, "unknown_species": unknown});
        let mut text = match accuracy {
            None => "accuracy unknown: the model knows none of the labels".to_owned(),
            Some(share) => format!(
                "accuracy {:.1} %: {correct} of {comparable} clouds",
                100.0 * share
            ),
        };
        if unknown > 0 {
            text += &format!("; not counted: {unknown} clouds of species that the model does not know");
        }
        ("accuracy", json, Some(text))
    }
}

/// Forecasts of a number of clouds.
pub struct ShownNumber {
    pub target: Target,
    /// The share of a tree that training clouds had.
    pub visible: f64,
    /// Absolute errors of the medians of the clouds whose true value is known.
    pub errors: Vec<f64>,
}

impl Shown<Forecast> for ShownNumber {
    fn row(&mut self, input: &Input, forecast: &Forecast) -> Row {
        let (f, unit, target) = (forecast.summary(LEVEL), self.target.unit(), self.target);
        let truth = input.truth(target);
        self.errors.extend(truth.map(|y| (f.median - y).abs()));
        let (median, file) = (f.median, short(&input.name));
        let interval = format!("{:.2} to {:.2}", f.lower, f.upper);
        let known = truth.map_or(String::new(), |y| format!("{y:.2}"));
        let column = format!("{target} ({unit})");
        let percent = format!("{:.0} % interval", 100.0 * LEVEL);
        Row {
            json: json!({"file": input.name, "target": target, "unit": unit, "mean": f.mean,
                "median": median, "lower": f.lower, "upper": f.upper, "level": LEVEL, "truth": truth}),
            table: [
                format!("{:<36}  {column:>13}  {percent:>16}  {:>6}", "file", "true"),
                format!("{file:<36}  {median:>13.2}  {interval:>16}  {known:>6}"),
            ],
        }
    }

    fn comparison(&self) -> (&'static str, Value, Option<String>) {
        let (key, count) = ("mean_absolute_error", self.errors.len());
        if count == 0 {
            return (key, Value::Null, None);
        }
        let error = self.errors.iter().sum::<f64>() / count as f64;
        let unit = self.target.unit();
        let mut text = format!("mean absolute error of the median {error:.3} {unit} over {count} clouds");
        if self.visible < 1.0 {
            text += ", which are predicted whole; the run was trained on parts of trees";
        }
        (key, json!({"value": error, "of": count}), Some(text))
    }
}

/// Prints rows as they arrive, and the comparison with the true values at the end: in CSV on standard error.
pub struct Printer<'a> {
    /// `table`, `csv` or `json`.
    pub format: &'a str,
    pub rows: usize,
}

impl Printer<'_> {
    pub fn row(&mut self, row: &Row) -> Result<()> {
        let mut out = io::stdout().lock();
        let first = self.rows == 0;
        self.rows += 1;
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

    pub fn end(self, (key, value, text): (&str, Value, Option<String>)) -> Result<()> {
        let mut out = io::stdout().lock();
        match (self.format, text) {
            ("json", _) => {
                let begin = if self.rows == 0 { "{\"clouds\": [" } else { "" };
                writeln!(out, "{begin}], \"{key}\": {value}}}")?;
            }
            ("csv", Some(text)) => note!("{text}"),
            (_, text) => text.map_or(Ok(()), |text| writeln!(out, "{text}"))?,
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
