//! A schedule by its name, as in `--schedule`.

use std::{fmt, str::FromStr};

use anyhow::{Context, Error, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Decay, OneCycle, cosine_with_warmup, decayed, one_cycle,
    warmup::{Rise, Warmup, warmup, warmup_cosine, warmup_decay},
};

/// A schedule over a run, by the forms of `--schedule`: `cosine`, `step:20:0.7`, `warmuplr:steps=1000`.
///
/// From `WarmupLr` on they are DeepSpeed's: they count optimizer steps, not epochs, have a warm-up of their own, and a
/// setting that is left out has DeepSpeed's default. The peak learning rate is not among the settings. A key of DeepSpeed's
/// JSON is an alias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of `--schedule`")]
pub enum Schedule {
    Constant,
    Cosine,
    Step {
        epochs: u64,
        gamma: f64,
    },
    Multistep {
        at: Vec<u64>,
        gamma: f64,
    },
    Exponential {
        gamma: f64,
    },
    OneCycle {
        #[serde(default = "three_tenths")]
        rising: f64,
    },
    /// Warm-up, then constant.
    WarmupLr {
        #[serde(alias = "warmup_num_steps", default = "thousand")]
        steps: u64,
        #[serde(alias = "warmup_type", default)]
        rise: Rise,
        #[serde(alias = "warmup_min_lr", default)]
        min: f64,
    },
    /// Warm-up, then a straight line to `min`.
    WarmupDecayLr {
        #[serde(alias = "total_num_steps")]
        total: u64,
        #[serde(alias = "warmup_num_steps", default = "thousand")]
        steps: u64,
        #[serde(alias = "warmup_type", default)]
        rise: Rise,
        #[serde(alias = "warmup_min_lr", default)]
        min: f64,
    },
    /// Warm-up, then a cosine. `min` and `end` are shares of the peak learning rate.
    WarmupCosineLr {
        #[serde(alias = "total_num_steps")]
        total: u64,
        #[serde(alias = "warmup_num_steps", default = "thousand")]
        steps: u64,
        #[serde(alias = "warmup_type", default)]
        rise: Rise,
        #[serde(alias = "warmup_min_ratio", default)]
        min: f64,
        #[serde(alias = "cos_min_ratio", default = "least_share")]
        end: f64,
    },
}

fn three_tenths() -> f64 {
    0.3
}

fn thousand() -> u64 {
    1000
}

fn least_share() -> f64 {
    1e-4
}

/// The form of each schedule, for error messages, and the settings that have a place in it, not a key.
const FORMS: [(&str, &[&str]); 9] = [
    ("constant", &[]),
    ("cosine", &[]),
    ("step:EPOCHS:GAMMA", &["epochs", "gamma"]),
    ("multistep:EPOCH,EPOCH,…:GAMMA", &["at", "gamma"]),
    ("exponential:GAMMA", &["gamma"]),
    ("onecycle[:RISING]", &["rising"]),
    ("warmuplr:steps=N:rise=log|linear:min=RATE", &[]),
    ("warmupdecaylr:total=N:steps=N:rise=log|linear:min=RATE", &[]),
    (
        "warmupcosinelr:total=N:steps=N:rise=log|linear:min=SHARE:end=SHARE",
        &[],
    ),
];

/// The row of `FORMS` of a schedule.
fn form(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    FORMS
        .iter()
        .find(|(form, _)| form.split([':', '[']).next() == Some(name))
}

impl FromStr for Schedule {
    type Err = Error;

    /// # Errors
    /// Returns an error if the name is unknown, or if a setting is missing, superfluous or out of range.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let Some((form, places)) = form(name) else {
            let forms = FORMS.map(|(form, _)| form).join(", ");
            bail!("schedule '{text}': there is no '{name}'; use one of {forms}");
        };
        let settings = settings(parts, places).and_then(|settings| Self::new(name, settings));
        settings.map_err(|error| Error::msg(format!("schedule '{text}': {error:#}; use {form}")))
    }
}

/// The settings in the parts of a text, KEY=VALUE or in the order of `places`.
fn settings<'a>(parts: impl Iterator<Item = &'a str>, places: &[&'a str]) -> Result<Map<String, Value>> {
    let mut places = places.iter();
    let mut settings = Map::new();
    for part in parts {
        let (key, value) = match (part.split_once('='), places.next()) {
            (Some(both), _) => both,
            (None, Some(&key)) => (key, part),
            (None, None) => bail!("'{part}' is not KEY=VALUE"),
        };
        let value = match key {
            "at" => value.split(',').map(json).collect(),
            _ => json(value),
        };
        let old = settings.insert(key.to_owned(), value);
        ensure!(old.is_none(), "'{key}' appears twice");
    }
    Ok(settings)
}

/// `text` as a number if it is one.
fn json(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => text.into(),
    }
}

/// The form that `--schedule` reads, with every setting.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, settings) = self.parts().map_err(|_| fmt::Error)?;
        f.write_str(&name)?;
        let places = form(&name).map_or(&[][..], |(_, places)| places);
        for (key, value) in &settings {
            let key = match places.contains(&&**key) {
                true => String::new(),
                false => format!("{key}="),
            };
            let words: Vec<String> = each(value).iter().map(word).collect();
            write!(f, ":{key}{}", words.join(","))?;
        }
        Ok(())
    }
}

/// A word, or a number without an exponent.
fn word(value: &Value) -> String {
    match (value.as_str(), value.as_u64(), value.as_f64()) {
        (Some(word), ..) => word.to_owned(),
        (_, Some(whole), _) => whole.to_string(),
        (.., number) => number.unwrap_or(f64::NAN).to_string(),
    }
}

/// The values of a list, or the one value.
fn each(value: &Value) -> &[Value] {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
}

impl Schedule {
    /// The schedule `name` with `settings`.
    ///
    /// # Errors
    /// Names the setting that is unknown, missing or out of range.
    pub fn new(name: &str, settings: Map<String, Value>) -> Result<Self> {
        let whole: Value = match form(name) {
            Some((form, _)) if *form == name && settings.is_empty() => name.into(),
            _ => Map::from_iter([(name.to_owned(), Value::Object(settings))]).into(),
        };
        let schedule: Self = serde_path_to_error::deserialize(whole)?;
        schedule.check()?;
        Ok(schedule)
    }

    /// Its name and its settings.
    fn parts(&self) -> Result<(String, Map<String, Value>)> {
        let whole = serde_json::to_value(self)?;
        let Some((name, settings)) = whole.as_object().and_then(|whole| whole.iter().next()) else {
            return Ok((whole.as_str().unwrap_or_default().to_owned(), Map::new()));
        };
        Ok((name.clone(), settings.as_object().cloned().unwrap_or_default()))
    }

    fn check(&self) -> Result<()> {
        let (name, settings) = self.parts()?;
        for (key, value) in &settings {
            for number in each(value).iter().filter_map(Value::as_f64) {
                let (fits, range) = match &**key {
                    "epochs" | "at" | "steps" => (number >= 1.0, "at least 1"),
                    "gamma" | "rising" | "end" => (number <= 1.0, "between 0 and 1"),
                    "min" if name == "warmupcosinelr" => (number <= 1.0, "between 0 and 1"),
                    _ => (true, "at least 0"),
                };
                ensure!(fits && number >= 0.0, "{key} is {number}: it must be {range}");
            }
        }
        let [steps, total] = ["steps", "total"].map(|key| settings.get(key).and_then(Value::as_u64));
        if let (Some(steps), Some(total)) = (steps, total) {
            ensure!(
                steps <= total,
                "the warm-up has {steps} steps, more than the whole schedule with {total}"
            );
        }
        Ok(())
    }

    /// The learning rate of `step`, counted from 0, of `total` steps; `base` is the peak learning rate, and an epoch has
    /// `epoch_steps` steps. The first `warmup` epochs rise linearly from 0, except in one cycle and in DeepSpeed's schedules,
    /// which have a warm-up of their own.
    ///
    /// DeepSpeed advances its schedule after each step, so step t has the rate of `last_batch_iteration` = t − 1. The first
    /// step has the rate that the schedule starts with.
    ///
    /// # Errors
    /// Returns an error for one cycle if the step is past its end or if the run has a single step.
    pub fn rate(
        &self,
        step: u64,
        [epoch_steps, total]: [u64; 2],
        warmup_epochs: f64,
        base: f64,
    ) -> Result<f64> {
        let warming_up = ((warmup_epochs * epoch_steps as f64).round() as u64).min(total);
        let cosine = || cosine_with_warmup(step, warming_up, total, base, 0.0);
        let (epoch, last) = (step / epoch_steps.max(1), step.saturating_sub(1));
        let up = |&steps, &rise| Warmup { steps, rise };
        Ok(match self {
            Self::OneCycle { rising } => {
                ensure!(total >= 2, "one cycle: it has {total} steps and needs at least 2");
                let cycle = OneCycle {
                    rising: *rising,
                    ..OneCycle::new(base, total)
                };
                let past = || {
                    format!("one cycle: step {step} is past its end; it has {total} steps, counted from 0")
                };
                one_cycle(&cycle, step).with_context(past)?.0
            }
            Self::WarmupLr { steps, rise, min } => warmup(last, up(steps, rise), *min, base),
            Self::WarmupDecayLr {
                total,
                steps,
                rise,
                min,
            } => warmup_decay(last, up(steps, rise), *total, *min, base),
            // It starts with 0, whatever its settings are.
            Self::WarmupCosineLr { .. } if step == 0 => 0.0,
            Self::WarmupCosineLr {
                total,
                steps,
                rise,
                min,
                end,
            } => warmup_cosine(last, up(steps, rise), *total, base, *min, *end),
            Self::Cosine => cosine(),
            _ if step < warming_up => cosine(),
            Self::Constant => base,
            Self::Step { epochs, gamma } => decayed(&Decay::Step(*epochs), epoch, *gamma, base),
            Self::Multistep { at, gamma } => decayed(&Decay::Milestones(at.clone()), epoch, *gamma, base),
            Self::Exponential { gamma } => decayed(&Decay::Exponential, epoch, *gamma, base),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str, warmup: f64, steps: std::ops::Range<u64>) -> Vec<f64> {
        let schedule: Schedule = text.parse().expect(text);
        let rate = |t| schedule.rate(t, [4, 24], warmup, 1.0).expect("within the run");
        steps.map(rate).collect()
    }

    /// `tests/library/schedules.rs` compares their other steps with PyTorch's and DeepSpeed's, and `cli/settings.txt` lists
    /// how the forms are read.
    #[test]
    fn rates_count_epochs_and_begin_with_a_warm_up_of_the_run_or_of_deepspeed() {
        for (text, warmup, first, expected) in [
            ("step:2:0.5", 0.0, 6, &[1.0, 1.0, 0.5, 0.5][..]),
            ("multistep:1,2:0.5", 0.0, 3, &[1.0, 0.5]),
            ("exponential:0.5", 0.0, 8, &[0.25]),
            ("constant", 1.0, 0, &[0.25, 0.5, 0.75, 1.0, 1.0]),
            ("cosine", 1.0, 0, &[0.25, 0.5, 0.75, 1.0]),
            ("step:9:0.1", 1.0, 0, &[0.25, 0.5, 0.75, 1.0]),
            ("multistep:9:0.1", 1.0, 0, &[0.25, 0.5, 0.75, 1.0]),
            ("exponential:1", 1.0, 0, &[0.25, 0.5, 0.75, 1.0]),
            ("onecycle", 1.0, 0, &[0.04]),
            ("warmuplr:steps=8:min=0.25", 1.0, 0, &[0.25, 0.25]),
            ("warmuplr:steps=4:rise=linear", 1.0, 3, &[0.5]),
            ("warmupdecaylr:total=9:steps=8", 1.0, 0, &[0.0, 0.0]),
            ("warmupcosinelr:total=9:steps=8:min=0.5", 1.0, 0, &[0.0, 0.5]),
        ] {
            let found = rates(text, warmup, first..first + expected.len() as u64);
            let same = found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-12);
            assert!(same, "{text}: {found:?}, expected {expected:?}");
        }
    }
}
