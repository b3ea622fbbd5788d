//! The end of a run: the best weights on the plots kept for the test, scores, pictures, the page.

use std::{collections::BTreeMap, fmt::Write};

use anyhow::Result;

use super::{Predictions, Trainer, bar, machine, metrics};
use crate::report::{self, CriticalPoints, Evaluation, RunReport, WrongTree};

/// Trees that are drawn on the page, at most.
const WRONG_SHOWN: usize = 24;

/// Evaluates the best weights, and writes `evaluation.json`, `predictions.csv` and `report.html`.
///
/// # Errors
/// The loader's, candle's or the disk's.
pub fn finish(trainer: &mut Trainer, command: &str) -> Result<RunReport> {
    trainer.load_best()?;
    let (part, records) = held_out(trainer);
    let bar = bar((records.len() * trainer.config.votes) as u64, "testing");
    let predictions = trainer.predict(&records, trainer.config.votes, &mut |n| {
        bar.set_position(n as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    let evaluation = predictions.scores(part, &trainer.data.species);
    trainer.folder.write(
        "evaluation.json",
        &(serde_json::to_string_pretty(&evaluation)? + "\n"),
    )?;
    trainer
        .folder
        .write("predictions.csv", &predictions_csv(trainer, &predictions)?)?;
    let report = page(trainer, command, evaluation, &predictions)?;
    report::write(trainer.folder.path(), &report)?;
    Ok(report)
}

/// The part that the result is measured on: the test plots, or what comes closest.
fn held_out(trainer: &Trainer) -> (&'static str, Vec<usize>) {
    let split = &trainer.split;
    match (split.test.is_empty(), split.validation.is_empty()) {
        (false, _) => ("test", split.test.clone()),
        (true, false) => ("validation", split.validation.clone()),
        (true, true) => ("training", split.train.clone()),
    }
}

fn predictions_csv(trainer: &Trainer, predictions: &Predictions) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let species = &trainer.data.species;
    let head = ["tree", "plot", "scan", "source", "truth", "named"].map(String::from);
    csv.write_record(head.into_iter().chain(species.iter().map(|s| format!("p({s})"))))?;
    for (i, &r) in predictions.records.iter().enumerate() {
        let record = &trainer.data.records[r];
        let row = &predictions.probabilities[i];
        let scan = format!("{:?}", record.scan).to_lowercase();
        let named = &species[metrics::argmax(row)];
        let fields = [
            &record.tree,
            &record.plot,
            &scan,
            &record.source,
            &species[record.species],
            named,
        ];
        csv.write_record(
            fields
                .into_iter()
                .cloned()
                .chain(row.iter().map(|p| format!("{p:.4}"))),
        )?;
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}

fn page(
    trainer: &Trainer,
    command: &str,
    evaluation: Evaluation,
    predictions: &Predictions,
) -> Result<RunReport> {
    let config = &trainer.config;
    let counts = trainer.training_counts();
    let species = &trainer.data.species;
    Ok(RunReport {
        title: format!("{} PointNet on {}", config.model, trainer.data.name),
        command: command.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: machine::utc(
            std::time::SystemTime::now() - std::time::Duration::from_secs_f64(trainer.progress.seconds),
        ),
        seconds: trainer.progress.seconds,
        facts: facts(trainer),
        config: toml::to_string_pretty(config)?,
        epochs: trainer.rows.clone(),
        evaluation,
        training_counts: species
            .iter()
            .cloned()
            .zip(counts.iter().map(|&c| c as u64))
            .collect::<BTreeMap<_, _>>(),
        wrong: wrong(trainer, predictions)?,
        critical: critical(trainer, predictions)?,
    })
}

fn facts(trainer: &Trainer) -> Vec<(String, String)> {
    let split = &trainer.split;
    let plots = |records: &[usize]| {
        let names: std::collections::BTreeSet<_> =
            records.iter().map(|&r| &trainer.data.records[r].plot).collect();
        format!("{} scans on {} plots", records.len(), names.len())
    };
    let mut facts = vec![
        ("Training", plots(&split.train)),
        ("Validation", plots(&split.validation)),
        ("Test", plots(&split.test)),
        ("Points of a cloud", trainer.config.points_text()),
        ("Parameters", trainer.model.param_count().to_string()),
        ("Device", trainer.device_name().to_owned()),
        ("Processor", machine::processor()),
        ("Data digest", trainer.data.digest.chars().take(16).collect()),
    ];
    let precision = trainer.precision_told();
    if let Some(told) = &precision {
        facts.insert(5, ("Precision", told.clone()));
    }
    if let Some((_, epoch)) = trainer.progress.best {
        facts.insert(5, ("Best epoch", epoch.to_string()));
    }
    if let Some(bytes) = machine::peak_memory() {
        facts.push(("Peak memory", format!("{:.0} MiB", bytes as f64 / 1_048_576.0)));
    }
    facts.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn wrong(trainer: &Trainer, predictions: &Predictions) -> Result<Vec<WrongTree>> {
    let named = predictions.named();
    let mut wrong: Vec<usize> = (0..named.len())
        .filter(|&i| named[i] != predictions.truth[i])
        .collect();
    let sureness = |i: &usize| predictions.probabilities[*i][named[*i] as usize];
    wrong.sort_by(|a, b| sureness(b).total_cmp(&sureness(a)));
    wrong.truncate(WRONG_SHOWN);
    let species = &trainer.data.species;
    let draw = |i: usize| {
        Ok(WrongTree {
            tree: trainer.data.records[predictions.records[i]].tree.clone(),
            truth: species[predictions.truth[i] as usize].clone(),
            named: species[named[i] as usize].clone(),
            probability: sureness(&i),
            points: trainer.seen_points(predictions.records[i])?,
        })
    };
    wrong.into_iter().map(draw).collect()
}

/// The critical points of the tree that the model is surest of.
fn critical(trainer: &Trainer, predictions: &Predictions) -> Result<Option<CriticalPoints>> {
    let named = predictions.named();
    let right = (0..named.len()).filter(|&i| named[i] == predictions.truth[i]);
    let sureness = |i: usize| predictions.probabilities[i][named[i] as usize];
    let Some(best) = right.max_by(|&a, &b| sureness(a).total_cmp(&sureness(b))) else {
        return Ok(None);
    };
    let record = predictions.records[best];
    Ok(Some(CriticalPoints {
        tree: trainer.data.records[record].tree.clone(),
        species: trainer.data.species[named[best] as usize].clone(),
        points: trainer.seen_points(record)?,
        critical: trainer.critical_points(record)?,
    }))
}

/// What a person reads at the end, within 80 columns.
pub fn text(report: &RunReport, folder: &str) -> String {
    let e = &report.evaluation;
    let mut out = scores_text(e);
    let _ = writeln!(
        out,
        "\n{:.0} s in all · page: {folder}/report.html",
        report.seconds
    );
    let _ = writeln!(out, "name the species of a cloud: canopy predict {folder} CLOUD");
    out
}

/// Scores and the per-class table.
pub fn scores_text(e: &Evaluation) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: balanced accuracy {:.3}, accuracy {:.3}, macro F1 {:.3}\n",
        e.part, e.balanced_accuracy, e.accuracy, e.macro_f1
    );
    let wide = e
        .classes
        .iter()
        .map(|c| c.species.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(7, 30);
    let _ = writeln!(out, "{:wide$}  precision  recall     F1  clouds", "species");
    let show = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), |x| format!("{x:.2}"));
    for c in &e.classes {
        let name: String = c.species.chars().take(wide).collect();
        let _ = writeln!(
            out,
            "{name:wide$}  {:>9}  {:>6}  {:>5}  {:>6}",
            show(c.precision),
            show(c.recall),
            show(c.f1),
            c.support
        );
    }
    out
}
