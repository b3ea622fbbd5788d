//! What a sweep prints and shows on its page: where it is, and its results.

use std::fs;

use anyhow::{Context, Result};
use canopy_data::Philox;
use serde_json::{Value, json};

use super::{folder::Folder, space::Sweep, state::State};
use crate::search::{Parameter, corrected_estimate, cost};

/// Draws of the corrected estimate.
const DRAWS: usize = 1000;

/// Where a sweep is, as an object with its first `most` trials, the best ones first.
///
/// # Errors
/// Returns an error if a trial has an invalid setting.
pub fn overview(sweep: &Sweep, folder: &Folder, state: &State, most: usize) -> Result<Value> {
    let completed = || state.trials.iter().flatten();
    let epochs: u64 = completed().map(|(rung, _)| sweep.rungs[*rung].epochs).sum();
    let seconds: f64 = completed().map(|(_, result)| result.seconds).sum();
    let planned = cost(&sweep.rungs, seconds / epochs.max(1) as f64, 1, 0.0);
    let rungs = sweep.rungs.iter().zip(&state.rungs);
    let rungs = rungs.map(|(rung, completed)| json!({"epochs": rung.epochs, "trials": completed.len()}));
    let trials = state.ranked().into_iter().take(most);
    let trials = trials.map(|trial| row(sweep, folder, state, trial));
    Ok(json!({
        "method": sweep.method,
        "started": format!("{} of {} trials", state.trials.len(), state.values.len()),
        "running": state.open.len(),
        "epochs": epochs,
        "device_hours": seconds / 3600.0,
        "planned_hours": planned.device_hours,
        "rungs": rungs.collect::<Vec<_>>(),
        "trials": trials.collect::<Result<Vec<_>>>()?,
    }))
}

/// A trial: its epochs, its score and its hyper-parameters.
fn row(sweep: &Sweep, folder: &Folder, state: &State, trial: usize) -> Result<Value> {
    let score = match &state.trials[trial] {
        Some((_, completed)) => completed.score.map_or("diverged".into(), Value::from),
        None => Value::Null,
    };
    let metrics = fs::read_to_string(folder.trial(trial).join("metrics.jsonl")).unwrap_or_default();
    let mut row = json!({"trial": trial, "epochs": metrics.lines().count(), "score": score});
    let settings = sweep.settings(&state.values[trial])?;
    for Parameter { name, .. } in &sweep.parameters {
        row[name] = json!(settings.get(name));
    }
    Ok(row)
}

/// The results of a sweep so far. Where no device reports its power, its energy is that of `watts` in the device hours.
///
/// # Errors
/// Returns an error if a file of the sweep cannot be read.
pub fn results(sweep: &Sweep, folder: &Folder, state: &State, watts: Option<f64>) -> Result<Value> {
    let mut results = overview(sweep, folder, state, usize::MAX)?;
    let completed = || state.trials.iter().flatten().map(|(_, result)| result);
    let measured: Option<f64> = completed().map(|result| result.kilowatt_hours).sum();
    let measured = measured.filter(|&energy| energy > 0.0);
    let estimated = watts.zip(results["device_hours"].as_f64());
    results["kilowatt_hours"] = measured
        .or(estimated.map(|(watts, hours)| hours * watts / 1000.0))
        .into();
    results["energy"] = match (measured, watts) {
        (Some(_), _) => "measured on GPUs".into(),
        (None, Some(watts)) => format!("{watts} W in the device hours").into(),
        (None, None) => "unknown: no GPU reports its power; see --watts".into(),
    };
    let predicted = completed().map(|result| &result.correct);
    let predicted = predicted.filter(|correct| !correct.is_empty());
    let correct = predicted.map(|correct| correct.bytes().map(|c| c == b'1').collect());
    let correct: Vec<Vec<bool>> = correct.collect();
    if !correct.is_empty() {
        let estimate = corrected_estimate(&correct, DRAWS, &mut Philox::new(0, 0));
        results["validation_accuracy"] =
            json!({"apparent": estimate.apparent, "corrected": estimate.corrected});
    }
    let best = state.best().map(|trial| (trial, folder.trial(trial)));
    if let Some((trial, path)) = best.filter(|(_, path)| path.join("report.html").exists()) {
        results["best"] = json!({"trial": trial, "folder": path});
        let scores = fs::read(path.join("evaluation.json")).context("the scores cannot be read")?;
        let scores: serde_json::Map<String, Value> = serde_json::from_slice(&scores)?;
        let part = scores["part"].as_str().unwrap_or_default();
        for (name, score) in scores.iter().filter(|(_, score)| score.is_number()) {
            results[format!("{part}_{name}")] = score.clone();
        }
    }
    Ok(results)
}
