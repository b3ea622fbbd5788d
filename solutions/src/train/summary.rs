//! The end of a run: the best weights are scored on the test set, and the results are written.

use std::{collections::BTreeMap, fmt::Write};

use anyhow::Result;
use indicatif::HumanCount;
use jiff::{SignedDuration, Timestamp};

use super::{
    CriticalPoints, Evaluation, Predictions, RunReport, Target, Trainer, WrongTree, bar, machine,
    metrics::{self, balanced_interval},
    numbers::{Number, NumberReport},
};

/// Wrongly classified trees in a report, at most.
const WRONG_SHOWN: usize = 24;

/// Evaluates the best weights, writes `evaluation.json` and `predictions.csv`, and returns everything that the run's page
/// shows. A run without test and validation set has no scores, and these two files are not written.
///
/// # Errors
/// Returns those of the loader, candle and the disk.
pub fn finish(trainer: &mut Trainer, command: &str) -> Result<RunReport> {
    trainer.load_best()?;
    let Some((part, records)) = held_out(trainer) else {
        return report(trainer, command, None, &Predictions::default());
    };
    if let Some(number) = trainer.number.clone() {
        return finish_number(trainer, command, &number, (part, &records));
    }
    let bar = bar((records.len() * trainer.config.votes) as u64, "testing");
    let predictions = trainer.predict(&records, trainer.config.votes, &mut |n| {
        bar.set_position(n as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    let evaluation = predictions.scores(part, &trainer.data.species);
    let json = serde_json::to_string_pretty(&evaluation)? + "\n";
    trainer.folder.write("evaluation.json", &json)?;
    let csv = predictions_csv(trainer, &predictions)?;
    trainer.folder.write("predictions.csv", &csv)?;
    report(trainer, command, Some(evaluation), &predictions)
}

/// As [`finish`], of a run that predicts a number.
fn finish_number(
    trainer: &Trainer,
    command: &str,
    number: &Number,
    (part, records): (&str, &[usize]),
) -> Result<RunReport> {
    let bar = bar((records.len() * trainer.config.votes) as u64, "testing");
    let forecasts = trainer.forecast(number, records, trainer.config.votes, &mut |n| {
        bar.set_position(n as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    let (scores, rows) = (forecasts.scores(part), forecasts.rows(&trainer.data));
    let json = serde_json::to_string_pretty(&scores)? + "\n";
    trainer.folder.write("evaluation.json", &json)?;
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in &rows {
        csv.serialize(row)?;
    }
    let csv = String::from_utf8(csv.into_inner()?)?;
    trainer.folder.write("predictions.csv", &csv)?;
    Ok(RunReport {
        number: Some(NumberReport { scores, rows }),
        ..report(trainer, command, None, &Predictions::default())?
    })
}

/// The set that the result is measured on: the test set, or the validation set if there is no test set.
fn held_out(trainer: &Trainer) -> Option<(&'static str, Vec<usize>)> {
    let split = &trainer.split;
    let sets = [("test", &split.test), ("validation", &split.validation)];
    let (part, records) = sets.into_iter().find(|(_, records)| !records.is_empty())?;
    Some((part, records.clone()))
}

fn predictions_csv(trainer: &Trainer, predictions: &Predictions) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let species = &trainer.data.species;
    let head = ["tree", "plot", "scan", "source", "truth", "predicted"].map(String::from);
    csv.write_record(head.into_iter().chain(species.iter().map(|s| format!("p({s})"))))?;
    for (i, &r) in predictions.records.iter().enumerate() {
        let record = &trainer.data.records[r];
        let row = &predictions.probabilities[i];
        let scan = format!("{:?}", record.scan).to_lowercase();
        let fields = [
            &record.tree,
            &record.plot,
            &scan,
            &record.source,
            &species[record.species],
            &species[metrics::argmax(row)],
        ];
        let probabilities = row.iter().map(|p| format!("{p:.4}"));
        csv.write_record(fields.into_iter().cloned().chain(probabilities))?;
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}

fn report(
    trainer: &Trainer,
    command: &str,
    evaluation: Option<Evaluation>,
    predictions: &Predictions,
) -> Result<RunReport> {
    let config = &trainer.config;
    let seconds = trainer.progress.seconds;
    let started = Timestamp::now() - SignedDuration::from_secs(seconds as i64);
    let species = trainer.data.species.iter().cloned();
    let counts = trainer.training_counts();
    Ok(RunReport {
        target: config.target,
        title: match config.target {
            Target::Species => format!("{} PointNet on {}", config.model, trainer.data.name),
            target => format!("{} PointNet for {target} on {}", config.model, trainer.data.name),
        },
        command: command.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: Timestamp::from_second(started.as_second())?.to_string(),
        seconds,
        facts: facts(trainer),
        config: toml::to_string_pretty(config)?,
        epochs: trainer.rows.clone(),
        best_epoch: trainer.progress.best.map(|(_, epoch)| epoch),
        evaluation,
        training_counts: species
            .zip(counts.iter().map(|&c| c as u64))
            .collect::<BTreeMap<_, _>>(),
        number: None,
        wrong: wrong(trainer, predictions)?,
        critical: critical(trainer, predictions)?,
    })
}

fn facts(trainer: &Trainer) -> Vec<(String, String)> {
    let split = &trainer.split;
    let plots = |records: &[usize]| {
        let names: std::collections::BTreeSet<_> =
            records.iter().map(|&r| &trainer.data.records[r].plot).collect();
        match records.len() {
            0 => "none".to_owned(),
            n => format!("{n} scans on {} plots", names.len()),
        }
    };
    let mut facts = vec![
        ("Training set", plots(&split.train)),
        ("Validation set", plots(&split.validation)),
        ("Test set", plots(&split.test)),
        ("Points per cloud", trainer.config.points_text()),
        (
            "Parameters",
            HumanCount(trainer.model.param_count() as u64).to_string(),
        ),
    ];
    facts.extend(trainer.precision_told().map(|told| ("Precision", told)));
    facts.extend([
        ("Device", trainer.device_name().to_owned()),
        ("CPU", machine::processor()),
        ("Data digest", trainer.data.digest.chars().take(16).collect()),
    ]);
    if let Some(bytes) = machine::peak_memory() {
        facts.push(("Peak memory", format!("{:.0} MiB", machine::mib(bytes))));
    }
    facts.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn wrong(trainer: &Trainer, predictions: &Predictions) -> Result<Vec<WrongTree>> {
    let predicted = predictions.species();
    let mut wrong: Vec<usize> = (0..predicted.len())
        .filter(|&i| predicted[i] != predictions.truth[i])
        .collect();
    let confidence = |i: &usize| predictions.probabilities[*i][predicted[*i] as usize];
    wrong.sort_by(|a, b| confidence(b).total_cmp(&confidence(a)));
    wrong.truncate(WRONG_SHOWN);
    let species = &trainer.data.species;
    let tree = |i: usize| {
        Ok(WrongTree {
            tree: trainer.data.records[predictions.records[i]].tree.clone(),
            truth: species[predictions.truth[i] as usize].clone(),
            predicted: species[predicted[i] as usize].clone(),
            probability: confidence(&i),
            points: trainer.seen_points(predictions.records[i])?,
        })
    };
    wrong.into_iter().map(tree).collect()
}

/// The critical points of the correctly classified tree with the highest confidence.
fn critical(trainer: &Trainer, predictions: &Predictions) -> Result<Option<CriticalPoints>> {
    let predicted = predictions.species();
    let correct = (0..predicted.len()).filter(|&i| predicted[i] == predictions.truth[i]);
    let confidence = |i: usize| predictions.probabilities[i][predicted[i] as usize];
    let Some(best) = correct.max_by(|&a, &b| confidence(a).total_cmp(&confidence(b))) else {
        return Ok(None);
    };
    let record = predictions.records[best];
    Ok(Some(CriticalPoints {
        tree: trainer.data.records[record].tree.clone(),
        species: trainer.data.species[predicted[best] as usize].clone(),
        points: trainer.seen_points(record)?,
        critical: trainer.critical_points(record)?,
    }))
}

/// What `canopy train` prints at the end, within 80 columns.
pub fn text(report: &RunReport, folder: &str) -> String {
    let mut out = match (&report.evaluation, &report.number) {
        (Some(evaluation), _) => scores_text(evaluation),
        (None, Some(number)) => number.scores.text(),
        (None, None) => "no test set: all clouds were used for training, so there are no scores\n".to_owned(),
    };
    let _ = writeln!(
        out,
        "\n{:.0} s in total · page: {folder}/report.html",
        report.seconds
    );
    let what = report.target;
    let _ = writeln!(
        out,
        "predict the {what} of a cloud: canopy predict {folder} CLOUD"
    );
    out
}

/// Scores and the table of species.
pub fn scores_text(e: &Evaluation) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: balanced accuracy {:.3}, accuracy {:.3}, macro F1 {:.3}",
        e.part, e.balanced_accuracy, e.accuracy, e.macro_f1
    );
    let (low, high) = balanced_interval(&e.classes).unwrap_or_default();
    let _ = writeln!(
        out,
        "{} of {} clouds correct; 95 % interval of the balanced accuracy {low:.3} to {high:.3}\n",
        e.correct(),
        e.clouds()
    );
    let widths = e.classes.iter().map(|c| c.species.chars().count());
    let wide = widths.max().unwrap_or(0).clamp(7, 30);
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
