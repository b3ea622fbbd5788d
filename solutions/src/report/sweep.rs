//! The page of a sweep: what was tried, how it learned, and what it cost. Its text is in `sweep.html`.

use std::{
    cmp::Ordering,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use canopy_data::atomic;
use minijinja::{context, value::Serde};
use serde_json::Value;

use super::{
    html::render,
    svg::{Coordinate, LinePlot, ParallelPlot, Series, tick_label},
};
use crate::train::EpochRow;

/// What the page shows.
struct Sweep<'a> {
    /// The rows of the results' trials.
    trials: &'a [Value],
    /// The epochs of each of them.
    epochs: Vec<Vec<EpochRow>>,
    /// Epochs of each rung.
    rungs: Vec<f64>,
}

/// Writes `page.html` into the folder of a sweep: one file that needs no network and no script. The results are those of
/// `canopy sweep --json`. Returns its path.
///
/// # Errors
/// Names the file that cannot be read or written.
pub fn write_sweep(folder: &Path, results: &Value) -> Result<PathBuf> {
    let list = |name: &str| results[name].as_array().map_or(&[][..], Vec::as_slice);
    let sweep = Sweep {
        trials: list("trials"),
        epochs: list("trials")
            .iter()
            .map(|trial| epochs(folder, &trial["trial"]))
            .collect(),
        rungs: list("rungs")
            .iter()
            .filter_map(|rung| rung["epochs"].as_f64())
            .collect(),
    };
    let first = sweep.trials.first().and_then(Value::as_object);
    let names: Vec<&str> = first
        .into_iter()
        .flat_map(|first| first.keys().map(String::as_str))
        .collect();
    let cells = |trial: &Value| names.iter().map(|name| cell(&trial[name])).collect::<Vec<_>>();
    let data = context! {
        title => "A search for settings",
        version => env!("CARGO_PKG_VERSION"),
        results => Serde(results),
        names => Serde(&names),
        rows => sweep.trials.iter().map(cells).collect::<Vec<_>>(),
        parallel => sweep.parallel(&names),
        curves => sweep.curves(),
        file => fs::read_to_string(folder.join("space.toml"))?,
    };
    let css = concat!(include_str!("page/page.css"), ".wide svg{max-width:none}");
    let page = render(include_str!("sweep.html"), css, &[], data)?;
    let path = folder.join("page.html");
    atomic::write(&path, page.as_bytes())?;
    Ok(path)
}

/// The epochs of a trial.
fn epochs(folder: &Path, trial: &Value) -> Vec<EpochRow> {
    let path = folder.join(format!("trials/{:04}/metrics.jsonl", trial.as_u64().unwrap_or(0)));
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map_while(|line| serde_json::from_str(line).ok())
        .collect()
}

/// A value in four digits.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::String(word) => word.clone(),
        other => match other.as_f64() {
            Some(number) => tick_label(format!("{number:.3e}").parse().unwrap_or(number)),
            None => other.to_string(),
        },
    }
}

/// The smallest and the greatest value.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let beyond = |(low, high): (f64, f64), value| (low.min(value), high.max(value));
    values.fold((f64::INFINITY, f64::NEG_INFINITY), beyond)
}

impl Sweep<'_> {
    /// The hyper-parameters and the score of each trial.
    fn parallel(&self, names: &[&str]) -> String {
        let (low, high) = ends(self.trials.iter().filter_map(|trial| trial["score"].as_f64()));
        let goodness = |score: f64| 0.15 + 0.85 * (score - low) / (high - low).max(f64::MIN_POSITIVE);
        let item = |trial: &Value| {
            let values = names.iter().map(|name| format!("{name} {}", cell(&trial[name])));
            (
                values.collect::<Vec<_>>().join(", "),
                trial["score"].as_f64().map(goodness),
            )
        };
        let parameters = names
            .iter()
            .filter(|name| !["trial", "epochs", "score"].contains(name));
        let axes: Vec<Coordinate> = parameters.chain([&"score"]).map(|name| self.axis(name)).collect();
        let plot = ParallelPlot {
            title: "Hyper-parameters and score of each trial".into(),
            size: (140.0 * axes.len().max(4) as f64, 380.0),
            axes,
            items: self.trials.iter().map(item).collect(),
        };
        plot.svg()
    }

    fn axis(&self, name: &str) -> Coordinate {
        let values = || self.trials.iter().map(|trial| &trial[name]);
        let mut axis = Coordinate {
            name: name.to_owned(),
            values: values().map(Value::as_f64).collect(),
            ..Coordinate::default()
        };
        let (low, high) = ends(axis.values.iter().copied().flatten());
        // Values that differ by powers of ten; the plot of the curves has a linear score.
        axis.log = name != "score" && low > 0.0 && high > 20.0 * low;
        let mut words: Vec<&Value> = values().filter(|value| !value.is_null()).collect();
        let most = words.len() / 2;
        words.sort_by_key(|value| cell(value));
        words.sort_by(|a, b| a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal));
        words.dedup();
        // Also numbers that repeat, such as those of a list.
        if axis.values.iter().all(Option::is_none) || name != "score" && words.len() <= most.min(8) {
            axis.words = words.into_iter().map(cell).collect();
            let index = |value| axis.words.iter().position(|word| *word == cell(value));
            axis.values = values()
                .map(|value| index(value).map(|index| index as f64))
                .collect();
        }
        axis
    }

    /// The score of each trial over its epochs; the axis has a tick at each rung.
    fn curves(&self) -> String {
        let rungs = &self.rungs;
        let mut plot = LinePlot::new("Score on the validation set", "epoch", "higher is better");
        plot.size = (1100.0, 420.0);
        plot.percent = self.epochs.iter().flatten().any(|row| row.val_balanced.is_some());
        let mut stopped = Vec::new();
        for (trial, epochs) in self.trials.iter().zip(&self.epochs) {
            let points = epochs
                .iter()
                .filter_map(|row| Some((row.epoch as f64, row.score()?)));
            let points: Vec<(f64, f64)> = points.collect();
            let is_before_last = |end: &&(f64, f64)| rungs.contains(&end.0) && Some(&end.0) != rungs.last();
            // Not those that diverged or train on.
            let scored = points
                .last()
                .filter(|end| trial["score"].is_number() && trial["epochs"] == end.0);
            stopped.extend(scored.filter(is_before_last));
            match (plot.series.len(), points.len()) {
                (0, _) => plot
                    .series
                    .push(Series::new(format!("trial {}, the best", trial["trial"]), points)),
                // A single point is no line.
                (_, 0 | 1) => {}
                (1, _) => plot.series.push(Series::new("other trials", points).contour()),
                _ => plot.series.push(Series::new("", points).contour()),
            }
        }
        // The best one is drawn above the others.
        plot.series.reverse();
        if !stopped.is_empty() {
            plot.series.push(Series::new("stopped at a rung", stopped).dots());
        }
        plot.ticks_at(rungs.iter().copied()).svg()
    }
}
