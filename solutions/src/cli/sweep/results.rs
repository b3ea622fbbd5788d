//! What a sweep prints: where it is, and its results.

use std::fs;

use anyhow::{Context, Result};
use canopy_data::Philox;
use serde_json::{Value, json};

use super::{
    space::Sweep,
    state::{Folder, State},
};
use crate::search::{corrected_estimate, cost};

/// Draws of the corrected estimate.
const DRAWS: usize = 1000;

/// Where a sweep is, as an object with its first `most` trials, the best ones first.
pub fn overview(sweep: &Sweep, folder: &Folder, state: &State, most: usize) -> Value {
    let completed = || state.trials.iter().flatten();
    let epochs: u64 = completed().map(|(rung, _)| sweep.rungs[*rung].epochs).sum();
    let seconds: f64 = completed().map(|(_, result)| result.seconds).sum();
    let planned = cost(&sweep.rungs, seconds / epochs.max(1) as f64, 1, 0.0);
    let rungs = sweep.rungs.iter().zip(&state.rungs);
    let rungs = rungs.map(|(rung, completed)| json!({"epochs": rung.epochs, "trials": completed.len()}));
    let trials = state.ranked().into_iter().take(most);
    json!({
        "method": sweep.method,
        "started": format!("{} of {} trials", state.trials.len(), sweep.trials.len()),
        "running": state.open.len(),
        "epochs": epochs,
        "device_hours": seconds / 3600.0,
        "planned_hours": planned.device_hours,
        "rungs": rungs.collect::<Vec<_>>(),
        "trials": trials.map(|trial| row(sweep, folder, state, trial)).collect::<Vec<_>>(),
    })
}

/// A trial: its epochs, also those of a rung that it did not complete yet, its score and its hyper-parameters.
fn row(sweep: &Sweep, folder: &Folder, state: &State, trial: usize) -> Value {
    let metrics = fs::read_to_string(folder.trial(trial).join("metrics.jsonl"));
    let score = match state.score(trial) {
        Some(Some(score)) => score.into(),
        Some(None) => "diverged".into(),
        None => Value::Null,
    };
    let mut row =
        json!({"trial": trial, "epochs": metrics.unwrap_or_default().lines().count(), "score": score});
    for parameter in &sweep.space {
        let drawn = sweep.trials[trial]
            .0
            .iter()
            .find(|(name, _)| *name == parameter.name);
        row[&parameter.name] = json!(drawn.map(|(_, value)| value));
    }
    row
}

/// The results of a sweep that is done.
///
/// # Errors
/// Returns an error if the scores of the best trial on the test set cannot be read.
pub fn results(sweep: &Sweep, folder: &Folder, state: &State) -> Result<Value> {
    let mut results = overview(sweep, folder, state, usize::MAX);
    let predicted = state.trials.iter().flatten().map(|(_, result)| &result.correct);
    let predicted = predicted.filter(|correct| !correct.is_empty());
    let correct = predicted.map(|correct| correct.bytes().map(|c| c == b'1').collect());
    let correct: Vec<Vec<bool>> = correct.collect();
    if !correct.is_empty() {
        let estimate = corrected_estimate(&correct, DRAWS, &mut Philox::new(0, 0));
        results["validation_accuracy"] =
            json!({"apparent": estimate.apparent, "corrected": estimate.corrected});
    }
    if let Some(trial) = state.best() {
        let path = folder.trial(trial);
        let scores = fs::read(path.join("evaluation.json")).context("the scores cannot be read")?;
        let mut scores: Value = serde_json::from_slice(&scores)?;
        let fields = scores.as_object_mut().context("the scores are not an object")?;
        fields.retain(|_, score| !score.is_array());
        results["best"] = json!({"trial": trial, "folder": path});
        results["scores"] = scores;
    }
    Ok(results)
}
