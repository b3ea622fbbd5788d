//! What a sweep prints and shows on its page: where it is, and its results.

use std::fs;

use anyhow::{Context, Result};
use canopy_data::Philox;
use serde_json::{Value, json};

use super::{folder::Folder, space::Sweep, state::State};
use crate::search::{Parameter, Scored, corrected_estimate, cost};

/// The results of a sweep so far, with its first `most` trials, the best ones first. The estimated energy is that of `watts` in
/// the device hours.
///
/// # Errors
/// Returns an error if a file of the sweep cannot be read, or if a trial has an invalid setting.
pub fn results(sweep: &Sweep, folder: &Folder, watts: Option<f64>, most: usize) -> Result<Value> {
    let (_, state) = folder.journal(sweep)?;
    let mut rungs = sweep.rungs.clone();
    let completed = rungs.iter_mut().zip(&state.rungs);
    completed.for_each(|(rung, scored)| rung.trials = scored.len());
    let [trained, planned] = [&rungs, &sweep.rungs].map(|rungs| cost(rungs, 3600.0, 1, 0.0).device_hours);
    let completed = || state.trials.iter().flatten();
    let hours = completed().map(|result| result.seconds).sum::<f64>() / 3600.0;
    let measured: Option<f64> = completed().map(|result| result.kilowatt_hours).sum();
    let trials = state.ranked().into_iter().take(most);
    let trials = trials.map(|trial| row(sweep, folder, &state, trial));
    let mut results = json!({
        "method": sweep.method,
        "started": format!("{} of {} trials", state.trials.len(), state.values.len()),
        "running": state.open.len(),
        "epochs": trained as u64,
        "device_hours": hours,
        "planned_hours": hours * planned / trained.max(1.0),
        "measured_kWh": measured.filter(|&energy| energy > 0.0),
        "estimated_kWh": watts.map(|watts| hours * watts / 1000.0),
        "warning": warning(sweep, &state),
        "rungs": rungs,
        "trials": trials.collect::<Result<Vec<_>>>()?,
    });
    let best = state.best().map(|trial| (trial, folder.trial(trial)));
    if let Some((trial, path)) = best.filter(|(_, path)| path.join("report.html").exists()) {
        results["best"] = json!({"trial": trial, "folder": path});
        let correct = completed().map(|result| result.correct.bytes().map(|c| c == b'1').collect());
        let correct: Vec<Vec<bool>> = correct.filter(|correct: &Vec<_>| !correct.is_empty()).collect();
        let estimate = corrected_estimate(&correct, 1000, &mut Philox::new(0, 0));
        // null if the trials predict a number.
        results["apparent_accuracy"] = estimate.apparent.into();
        results["corrected_accuracy"] = estimate.corrected.into();
        let scores = fs::read(path.join("evaluation.json")).context("the scores cannot be read")?;
        let scores: serde_json::Map<String, Value> = serde_json::from_slice(&scores)?;
        let part = scores["part"].as_str().unwrap_or_default();
        for (name, score) in scores.iter().filter(|(_, score)| score.is_number()) {
            results[format!("{part}_{name}")] = score.clone();
        }
    }
    Ok(results)
}

/// A warning if the scores of a rung do not rank its trials: those of a guess are equal.
fn warning(sweep: &Sweep, state: &State) -> Option<String> {
    let half_equal = |scores: &Vec<Scored>| {
        let equal = |a: &Scored| scores.iter().filter(|b| a.score == b.score).count();
        scores.iter().map(equal).any(|n| n > 1 && 2 * n >= scores.len())
    };
    let below_last = &state.rungs[..state.rungs.len() - 1];
    let epochs = sweep.rungs[below_last.iter().position(half_equal)?].epochs;
    Some(format!(
        "half of the scores at epoch {epochs} are equal: raise fewest"
    ))
}

/// A trial: its epochs, its score and its hyper-parameters.
fn row(sweep: &Sweep, folder: &Folder, state: &State, trial: usize) -> Result<Value> {
    let completed = state.trials[trial].as_ref();
    let score = completed.map(|result| result.score.map_or("diverged".into(), Value::from));
    let metrics = fs::read_to_string(folder.trial(trial).join("metrics.jsonl")).unwrap_or_default();
    let mut row = json!({"trial": trial, "epochs": metrics.lines().count(), "score": score});
    let settings = sweep.settings(&state.values[trial])?;
    for Parameter { name, .. } in &sweep.parameters {
        row[name] = json!(settings.get(name));
    }
    Ok(row)
}
