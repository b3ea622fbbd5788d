//! Output of `canopy predict`: a table, CSV or JSON.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::inputs::Input;
use crate::train::metrics;

/// Prints predictions as they arrive, and their accuracy at the end.
pub struct Printer<'a> {
    format: &'a str,
    species: &'a [String],
    /// Whether any input has a label.
    labelled: bool,
    rows: usize,
    /// Clouds with a label that the model can predict, and correct predictions among them.
    comparable: usize,
    correct: usize,
    /// Clouds of species that the model does not know.
    unknown: usize,
}

impl<'a> Printer<'a> {
    /// Prints in `format` the predictions of a model of `species`.
    pub fn new(format: &'a str, species: &'a [String], inputs: &[Input]) -> Self {
        Self {
            format,
            species,
            labelled: inputs.iter().any(|i| i.label.is_some()),
            rows: 0,
            comparable: 0,
            correct: 0,
            unknown: 0,
        }
    }

    /// Prints one cloud with its `probabilities`, in the order of the species.
    pub fn row(&mut self, input: &Input, probabilities: &[f32]) -> Result<()> {
        let predicted = &self.species[metrics::argmax(probabilities)];
        if let Some(label) = &input.label {
            let known = self.species.contains(label);
            self.comparable += usize::from(known);
            self.unknown += usize::from(!known);
            self.correct += usize::from(label == predicted);
        }
        let mut out = io::stdout().lock();
        match self.format {
            "csv" => {
                let mut csv = csv::Writer::from_writer(out);
                if self.rows == 0 {
                    let heads = self.species.iter().map(|s| format!("p({s})"));
                    let label = self.labelled.then(|| "label".to_owned());
                    let first = ["file", "species"].map(String::from);
                    csv.write_record(first.into_iter().chain(label).chain(heads))?;
                }
                let numbers = probabilities.iter().map(|p| format!("{p:.4}"));
                let label = self.labelled.then(|| input.label.clone().unwrap_or_default());
                let first = [input.name.clone(), predicted.clone()];
                csv.write_record(first.into_iter().chain(label).chain(numbers))?;
                csv.flush()?;
            }
            "json" => {
                let open = if self.rows == 0 { "{\"clouds\": [" } else { "," };
                let pairs = self
                    .species
                    .iter()
                    .cloned()
                    .zip(probabilities.iter().map(|p| json!(p)));
                let each: Map<String, Value> = pairs.collect();
                let mut row = json!({"file": input.name, "species": predicted, "probabilities": each});
                if let Some(label) = &input.label {
                    row["label"] = json!(label);
                }
                writeln!(out, "{open}{row}")?;
            }
            _ => {
                if self.rows == 0 {
                    let last = if self.labelled { "label" } else { "second" };
                    writeln!(out, "{:<40}  {:<16}  {:>4}  {last}", "file", "species", "p")?;
                }
                writeln!(out, "{}", self.line(input, probabilities))?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// File, predicted species with its probability, and the label or the second species; within 80 columns.
    fn line(&self, input: &Input, p: &[f32]) -> String {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
        let short = short(&input.name);
        let percent = |i: usize| format!("{:.0}%", 100.0 * p[i]);
        let second = || {
            order
                .get(1)
                .map(|&i| format!("{} {}", self.species[i], percent(i)))
        };
        let last = if self.labelled {
            input.label.clone()
        } else {
            second()
        };
        let first = order[0];
        let line = format!(
            "{short:<40}  {:<16}  {:>4}  {}",
            self.species[first],
            percent(first),
            last.unwrap_or_default()
        );
        line.trim_end().to_owned()
    }

    /// Prints the accuracy if labels are known: in CSV on standard error.
    pub fn end(self) -> Result<()> {
        let mut out = io::stdout().lock();
        let accuracy = self.correct as f64 / self.comparable.max(1) as f64;
        if self.format == "json" {
            let value = (self.comparable > 0).then_some(accuracy);
            let summary = json!({"value": value, "correct": self.correct, "of": self.comparable,
                "unknown_species": self.unknown});
            let begin = if self.rows == 0 { "{\"clouds\": [" } else { "" };
            writeln!(
                out,
                "{begin}], \"accuracy\": {}}}",
                json!(self.labelled.then_some(summary))
            )?;
            return Ok(());
        }
        if !self.labelled {
            return Ok(());
        }
        let mut text = match self.comparable {
            0 => "accuracy unknown: the model knows none of the labels".to_owned(),
            n => format!(
                "accuracy {:.1} %: {} of {n} clouds",
                100.0 * accuracy,
                self.correct
            ),
        };
        if self.unknown > 0 {
            text += &format!(
                "; not counted: {} clouds of species that the model does not know",
                self.unknown
            );
        }
        match self.format {
            "csv" => eprintln!("{text}"),
            _ => writeln!(out, "{text}")?,
        }
        Ok(())
    }
}

/// A name in at most 40 characters, its last ones.
pub fn short(name: &str) -> String {
    let count = name.chars().count();
    match count {
        0..=40 => name.to_owned(),
        _ => format!("…{}", name.chars().skip(count - 39).collect::<String>()),
    }
}
