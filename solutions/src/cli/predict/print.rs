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
    json: Value,
    /// Titles and cells.
    csv: Vec<(String, String)>,
    /// Titles and cells, of the width of their column.
    table: [(String, String); 4],
}

/// What is printed of predictions, and how they compare with the true values.
pub trait Shown<P> {
    /// The row of a cloud, which is also counted.
    fn row(&mut self, input: &Input, prediction: &P) -> Row;

    /// The comparison with the true values of all rows: its key and value in JSON, and as text, if there is any.
    fn comparison(&self) -> (&'static str, Value, Option<String>);
}

/// The species of clouds.
pub struct ShownSpecies<'a> {
    species: &'a [String],
    /// Whether any input has a label.
    labelled: bool,
    /// Clouds with a label that the model can predict, and correct predictions among them.
    comparable: usize,
    correct: usize,
    /// Clouds of species that the model does not know.
    unknown: usize,
}

impl<'a> ShownSpecies<'a> {
    /// Of a model of `species`.
    pub fn new(species: &'a [String], inputs: &[Input]) -> Self {
        Self {
            species,
            labelled: inputs.iter().any(|i| i.label.is_some()),
            comparable: 0,
            correct: 0,
            unknown: 0,
        }
    }
}

impl Shown<Vec<f32>> for ShownSpecies<'_> {
    fn row(&mut self, input: &Input, p: &Vec<f32>) -> Row {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
        let named = |i: usize| format!("{} {:.0}%", self.species[i], 100.0 * p[i]);
        let second = order.get(1).map(|&i| named(i)).unwrap_or_default();
        let first = metrics::argmax(p);
        let predicted = &self.species[first];
        let probabilities: Map<String, Value> = self
            .species
            .iter()
            .cloned()
            .zip(p.iter().map(|p| json!(p)))
            .collect();
        let mut json = json!({"file": input.name, "species": predicted, "probabilities": probabilities});
        let mut csv = cells([("file", input.name.clone()), ("species", predicted.clone())]);
        let label = input.label.clone().unwrap_or_default();
        if self.labelled {
            csv.push(("label".into(), label.clone()));
        }
        let pairs = self.species.iter().zip(p);
        csv.extend(pairs.map(|(species, p)| (format!("p({species})"), format!("{p:.4}"))));
        if let Some(label) = &input.label {
            json["label"] = json!(label);
            let known = self.species.contains(label);
            self.comparable += usize::from(known);
            self.unknown += usize::from(!known);
            self.correct += usize::from(label == predicted);
        }
        let table = [
            ("file", short(&input.name)),
            ("species         ", format!("{predicted:<16}")),
            ("   p", format!("{:>3.0}%", 100.0 * p[first])),
            if self.labelled {
                ("label", label)
            } else {
                ("second", second)
            },
        ];
        Row {
            json,
            csv,
            table: table.map(|(title, cell)| (title.into(), cell)),
        }
    }

    fn comparison(&self) -> (&'static str, Value, Option<String>) {
        if !self.labelled {
            return ("accuracy", Value::Null, None);
        }
        let &Self {
            comparable,
            correct,
            unknown,
            ..
        } = self;
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
        let (f, unit, name) = (forecast.summary(LEVEL), self.target.unit(), &input.name);
        let truth = input.truth(self.target);
        self.errors.extend(truth.map(|y| (f.median - y).abs()));
        let text =
            |value: Option<f64>, digits: usize| value.map_or(String::new(), |v| format!("{v:.digits$}"));
        let interval = format!("{:.2} to {:.2}", f.lower, f.upper);
        let column = format!("{} ({unit})", self.target);
        let percent = format!("{:.0} % interval", 100.0 * LEVEL);
        Row {
            json: json!({"file": name, "target": self.target, "unit": unit, "mean": f.mean,
                "median": f.median, "lower": f.lower, "upper": f.upper, "level": LEVEL, "truth": truth}),
            csv: cells([
                ("file", name.clone()),
                ("mean", text(Some(f.mean), 4)),
                ("median", text(Some(f.median), 4)),
                ("lower", text(Some(f.lower), 4)),
                ("upper", text(Some(f.upper), 4)),
                ("truth", text(truth, 4)),
            ]),
            table: [
                ("file".into(), short(name)),
                (format!("{column:>13}"), format!("{:>13.2}", f.median)),
                (format!("{percent:>16}"), format!("{interval:>16}")),
                ("  true".into(), format!("{:>6}", text(truth, 2))),
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
    format: &'a str,
    rows: usize,
}

impl<'a> Printer<'a> {
    /// Prints as `table`, `csv` or `json`.
    pub fn new(format: &'a str) -> Self {
        Self { format, rows: 0 }
    }

    pub fn row(&mut self, row: Row) -> Result<()> {
        let mut out = io::stdout().lock();
        let first = self.rows == 0;
        self.rows += 1;
        match self.format {
            "csv" => {
                let (titles, cells): (Vec<_>, Vec<_>) = row.csv.into_iter().unzip();
                let mut csv = csv::Writer::from_writer(out);
                if first {
                    csv.write_record(titles)?;
                }
                csv.write_record(cells)?;
                csv.flush()?;
            }
            "json" => writeln!(out, "{}{}", if first { "{\"clouds\": [" } else { "," }, row.json)?,
            _ => {
                let [(f, file), (a, b), (c, d), (e, last)] = row.table;
                if first {
                    writeln!(out, "{}", format!("{f:<40}  {a}  {c}  {e}").trim_end())?;
                }
                writeln!(out, "{}", format!("{file:<40}  {b}  {d}  {last}").trim_end())?;
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
            ("csv", Some(text)) => eprintln!("{text}"),
            (_, text) => text.map_or(Ok(()), |text| writeln!(out, "{text}"))?,
        }
        Ok(())
    }
}

fn cells<const N: usize>(cells: [(&str, String); N]) -> Vec<(String, String)> {
    cells.map(|(title, cell)| (title.to_owned(), cell)).into()
}

/// A name in at most 40 characters, its last ones.
fn short(name: &str) -> String {
    let count = name.chars().count();
    match count {
        0..=40 => name.to_owned(),
        _ => format!("…{}", name.chars().skip(count - 39).collect::<String>()),
    }
}
