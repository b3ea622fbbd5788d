//! The end of a run: the best weights are scored on the test set, and the results are written.

use std::{collections::BTreeSet, fmt};

use anyhow::Result;
use indicatif::HumanCount;
use jiff::{SignedDuration, Timestamp};

use super::{
    Evaluation, RunReport, Target, Trainer, WrongTree, bar, machine,
    metrics::{argmax, balanced_interval},
    numbers::NumberReport,
    species::Species,
    task::{Part, Task},
};

/// Wrongly classified trees in a report, at most.
const WRONG_SHOWN: usize = 24;

/// Evaluates the best weights, writes `evaluation.json` and `predictions.csv`, and returns everything that the run's page
/// shows. A run without test and validation set has no scores, and these two files are not written.
pub fn finish(trainer: &mut Trainer, command: &str) -> Result<RunReport> {
    trainer.load_best()?;
    // The test set, or the validation set if there is no test set.
    let sets = [
        ("test", &trainer.split.test),
        ("validation", &trainer.split.validation),
    ];
    let held_out = sets.into_iter().find(|(_, records)| !records.is_empty());
    let held_out = held_out.map(|(name, records)| trainer.part(name, records));
    let scored = match (held_out, &trainer.number) {
        (None, _) => RunReport::default(),
        (Some(part), Some(number)) => {
            let (forecasts, scores) = score(trainer, number, &part)?;
            let rows = number.rows(&part, &forecasts);
            RunReport {
                number: Some(NumberReport { scores, rows }),
                ..RunReport::default()
            }
        }
        (Some(part), None) => {
            let (predictions, scores) = score(trainer, &Species(&trainer.data.species), &part)?;
            of_species(trainer, &part, &predictions, scores)?
        }
    };
    let config = &trainer.config;
    let seconds = trainer.progress.seconds;
    let started = Timestamp::now() - SignedDuration::from_secs(seconds as i64);
    let species = trainer.data.species.iter().cloned();
    let counts = trainer.training_counts().into_iter().map(|count| count as u64);
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
        training_counts: species.zip(counts).collect(),
        ..scored
    })
}

/// Predicts these records, and writes the scores and the predictions.
fn score<T: Task>(trainer: &Trainer, task: &T, part: &Part) -> Result<(Vec<T::Prediction>, T::Scores)> {
    let votes = trainer.config.votes;
    let bar = bar((part.records.len() * votes) as u64, "testing");
    let predictions = trainer.predict(task, part, votes, &mut |n| {
        bar.set_position(n as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    let scores = task.scores(part, &predictions);
    let json = serde_json::to_string_pretty(&scores)? + "\n";
    trainer.folder.write("evaluation.json", &json)?;
    let mut csv = csv::Writer::from_writer(Vec::new());
    for (i, (&record, prediction)) in part.records.iter().zip(&predictions).enumerate() {
        let (titles, cells): (Vec<_>, Vec<_>) =
            task.row(&trainer.data, record, prediction).into_iter().unzip();
        if i == 0 {
            csv.write_record(titles)?;
        }
        csv.write_record(cells)?;
    }
    let csv = String::from_utf8(csv.into_inner()?)?;
    trainer.folder.write("predictions.csv", &csv)?;
    Ok((predictions, scores))
}

/// The scores of a classifier, and the trees that it classified wrongly, the most confident mistake first.
fn of_species(
    trainer: &Trainer,
    part: &Part,
    predictions: &[Vec<f32>],
    scores: Evaluation,
) -> Result<RunReport> {
    let species = &trainer.data.species;
    let tree = |record: usize| &trainer.data.records[record];
    let pairs = predictions.iter().zip(part.records);
    let named = pairs.map(|(row, &record)| (argmax(row), row[argmax(row)], record));
    let wrong = named.filter(|&(named, _, record)| named != tree(record).species);
    let mut wrong: Vec<_> = wrong.collect();
    wrong.sort_by(|a, b| b.1.total_cmp(&a.1));
    let wrong = wrong
        .into_iter()
        .take(WRONG_SHOWN)
        .map(|(named, probability, record)| {
            Ok(WrongTree {
                tree: tree(record).tree.clone(),
                truth: species[tree(record).species].clone(),
                predicted: species[named].clone(),
                probability,
                points: trainer.seen_points(record)?,
            })
        });
    Ok(RunReport {
        evaluation: Some(scores),
        wrong: wrong.collect::<Result<_>>()?,
        ..RunReport::default()
    })
}

fn facts(trainer: &Trainer) -> Vec<(String, String)> {
    let split = &trainer.split;
    let plots = |records: &[usize]| {
        let names = records.iter().map(|&r| &trainer.data.records[r].plot);
        let names: BTreeSet<_> = names.collect();
        match records.len() {
            0 => "none".to_owned(),
            n => format!("{n} scans on {} plots", names.len()),
        }
    };
    let parameters = trainer.model.param_count() as u64;
    let mut facts = vec![
        ("Training set", plots(&split.train)),
        ("Validation set", plots(&split.validation)),
        ("Test set", plots(&split.test)),
        ("Points per cloud", trainer.config.points.to_string()),
        ("Parameters", HumanCount(parameters).to_string()),
    ];
    facts.extend(trainer.precision_description().map(|told| ("Precision", told)));
    facts.extend([
        ("Device", trainer.device.name.clone()),
        ("CPU", machine::processor()),
        ("Data digest", trainer.data.digest.chars().take(16).collect()),
    ]);
    if let Some(bytes) = machine::peak_memory() {
        facts.push(("Peak memory", format!("{:.0} MiB", machine::mib(bytes))));
    }
    facts.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

/// What `canopy train` prints at the end, within 80 columns.
pub fn text(report: &RunReport, folder: &str) -> String {
    let scores = match (&report.evaluation, &report.number) {
        (Some(evaluation), _) => evaluation.to_string(),
        (None, Some(number)) => number.scores.to_string(),
        (None, None) => "no test set: all clouds were used for training, so there are no scores\n".to_owned(),
    };
    format!(
        "{scores}\n{:.0} s in total · page: {folder}/report.html\npredict the {} of a cloud: canopy predict {folder} CLOUD\n",
        report.seconds, report.target
    )
}

/// Scores and the table of species, within 80 columns.
impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: balanced accuracy {:.3}, accuracy {:.3}, macro F1 {:.3}",
            self.part, self.balanced_accuracy, self.accuracy, self.macro_f1
        )?;
        let (low, high) = balanced_interval(&self.classes).unwrap_or_default();
        writeln!(
            f,
            "{} of {} clouds correct; 95 % interval of the balanced accuracy {low:.3} to {high:.3}\n",
            self.correct(),
            self.clouds()
        )?;
        let widths = self.classes.iter().map(|c| c.species.chars().count());
        let wide = widths.max().unwrap_or(0).clamp(7, 30);
        writeln!(f, "{:wide$}  precision  recall     F1  clouds", "species")?;
        let show = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), |x| format!("{x:.2}"));
        for c in &self.classes {
            let [precision, recall, f1] = [c.precision, c.recall, c.f1].map(show);
            let (name, clouds) = (&c.species, c.support);
            writeln!(
                f,
                "{name:wide$.wide$}  {precision:>9}  {recall:>6}  {f1:>5}  {clouds:>6}"
            )?;
        }
        Ok(())
    }
}
