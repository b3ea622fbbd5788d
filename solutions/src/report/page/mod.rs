//! `report.html`: the page of a run, to show, print or send. Its text is in `page.html`.

mod plots;

use std::{cmp::Reverse, path::Path};

use anyhow::Result;
use minijinja::{Value, context, value::Serde};

use super::{
    html::{interval, render},
    points::Grid,
};
use crate::train::{
    Evaluation, RunReport, WrongTree,
    metrics::{balanced_interval, wilson},
    numbers::{LEVEL, NumberReport},
};

/// Rows of the table of epochs; the first epochs of longer runs are in `metrics.jsonl` only.
const MOST_ROWS: usize = 500;

/// Points of a wrongly classified tree, at most.
const MOST_POINTS: usize = 1024;

/// The page of a run: one HTML file that needs no network.
///
/// It is complete without scripts; its one script rotates trees and copies the command.
///
/// # Errors
/// Returns an error if the template asks for a value that it is not given.
pub fn run_page(run: &RunReport) -> Result<String> {
    let evaluation = run.evaluation.as_ref().filter(|e| e.clouds() > 0);
    let hidden = run.epochs.len().saturating_sub(MOST_ROWS);
    let title = match run.title.as_str() {
        "" => "A run of canopy",
        title => title,
    };
    let data = context! {
        title,
        version => run.version.as_str(),
        started => run.started.as_str(),
        command => run.command.as_str(),
        config => run.config.as_str(),
        target => Serde(run.target),
        facts => Serde(&run.facts),
        seconds => run.seconds,
        epoch_count => run.epochs.len(),
        steps => run.epochs.last().map(|last| last.step),
        rate => median_rate(run),
        best => run.best_epoch,
        validated => run.epochs.iter().any(|r| r.val_balanced.or(r.val_crps).is_some()),
        curves => plots::curves(run),
        hidden,
        epochs => Serde(&run.epochs[hidden..]),
        species => evaluation.map(|e| species(run, e)),
        number => run.number.as_ref().map(number),
        wrong => run.wrong.iter().map(card).collect::<Vec<_>>(),
    };
    let [template, css] = [include_str!("page.html"), include_str!("page.css")];
    render(template, css, &[include_str!("page.js")], data)
}

/// Writes `report.html` into `run_dir` atomically.
pub fn write(run_dir: &Path, run: &RunReport) -> Result<()> {
    canopy_data::atomic::write(&run_dir.join("report.html"), run_page(run)?.as_bytes())
}

/// The median of the epochs' clouds per second.
fn median_rate(run: &RunReport) -> Option<u64> {
    let rates = run.epochs.iter().map(|r| r.clouds_per_second);
    let mut rates: Vec<f64> = rates.filter(|r| r.is_finite()).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).map(|rate| rate.round() as u64)
}

/// The scores of a classifier.
fn species(run: &RunReport, e: &Evaluation) -> Value {
    let of_class = |(i, class): (usize, &crate::train::ClassRow)| {
        let correct = e.confusion.get(i).and_then(|row| row.get(i)).copied();
        let recall = wilson(correct.unwrap_or(0).min(class.support), class.support);
        recall.map_or("–".to_owned(), |(low, high)| interval(low, high))
    };
    context! {
        scores => Serde(e),
        trees => e.clouds(),
        correct => e.correct(),
        interval => balanced_interval(&e.classes).map(|(low, high)| interval(low, high)),
        mistakes => mistakes(e),
        intervals => e.classes.iter().enumerate().map(of_class).collect::<Vec<_>>(),
        trained => Serde(&run.training_counts),
        undefined => e.classes.iter().any(|c| c.precision.is_none() || c.recall.is_none() || c.f1.is_none()),
    }
}

/// The three most frequent confusions, equals in the order of the species.
fn mistakes(e: &Evaluation) -> Vec<String> {
    let mut pairs: Vec<(u64, &str, &str, u64)> = Vec::new();
    for (truth, (row, class)) in e.confusion.iter().zip(&e.classes).enumerate() {
        for (predicted, (&count, other)) in row.iter().zip(&e.classes).enumerate() {
            if predicted != truth && count > 0 {
                pairs.push((count, &class.species, &other.species, row.iter().sum()));
            }
        }
    }
    pairs.sort_by_key(|pair| Reverse(pair.0));
    let first = pairs.into_iter().take(3);
    first
        .map(|(n, truth, predicted, of)| format!("{truth} classified as {predicted} ({n} of {of})"))
        .collect()
}

/// A tree that was classified wrongly.
fn card(tree: &WrongTree) -> Value {
    let grid = Grid::new(&tree.points, MOST_POINTS);
    let label = format!(
        "Points of {}, a {} classified as {}",
        tree.tree, tree.truth, tree.predicted
    );
    context! {
        tree => tree.tree.as_str(),
        truth => tree.truth.as_str(),
        predicted => tree.predicted.as_str(),
        probability => f64::from(tree.probability),
        xyz => grid.base64(),
        still => grid.still((180.0, 200.0), &label),
        height => grid.size()[2],
    }
}

fn number(number: &NumberReport) -> Value {
    context!(scores => Serde(&number.scores), plots => plots::forecasts(number), level => LEVEL)
}
