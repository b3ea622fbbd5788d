//! A schedule by its name, as in `--schedule`.

use std::{fmt, str::FromStr};

use anyhow::{Context, Error, Result, bail, ensure};

use super::{Decay, OneCycle, cosine_with_warmup, decayed, one_cycle};

/// A schedule over a run, by the forms of `--schedule`: `cosine`, `step:20:0.7`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of `--schedule`")]
pub enum Schedule {
    Constant,
    Cosine,
    Step { epochs: u64, gamma: f64 },
    Multistep { at: Vec<u64>, gamma: f64 },
    Exponential { gamma: f64 },
    OneCycle { rising: f64 },
}

/// The form of each schedule, for error messages.
const FORMS: [&str; 6] = [
    "constant",
    "cosine",
    "step:EPOCHS:GAMMA",
    "multistep:EPOCH,EPOCH,…:GAMMA",
    "exponential:GAMMA",
    "onecycle[:RISING]",
];

impl FromStr for Schedule {
    type Err = Error;

    /// # Errors
    /// Returns an error if the name is unknown, or if a setting is missing, superfluous or out of range.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let Some(form) = FORMS
            .iter()
            .find(|form| form.split([':', '[']).next() == Some(name))
        else {
            bail!(
                "schedule '{text}': there is no '{name}'; use one of {}",
                FORMS.join(", ")
            );
        };
        let settings: Vec<&str> = parts.collect();
        let schedule = Self::new(name, &settings);
        schedule.map_err(|error| Error::msg(format!("schedule '{text}': {error}; use {form}")))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Cosine => f.write_str("cosine"),
            Self::Step { epochs, gamma } => write!(f, "step:{epochs}:{gamma}"),
            Self::Multistep { at, gamma } => {
                let at: Vec<String> = at.iter().map(u64::to_string).collect();
                write!(f, "multistep:{}:{gamma}", at.join(","))
            }
            Self::Exponential { gamma } => write!(f, "exponential:{gamma}"),
            Self::OneCycle { rising } => write!(f, "onecycle:{rising}"),
        }
    }
}

/// An epoch, which is counted from 1.
fn epoch(text: &str) -> Result<u64> {
    let number = text.parse().ok().filter(|&epoch| epoch >= 1);
    number.with_context(|| format!("'{text}' is not a whole number of at least 1"))
}

fn share(text: &str) -> Result<f64> {
    let number = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    number.with_context(|| format!("'{text}' is not a number between 0 and 1"))
}

impl Schedule {
    fn new(name: &str, settings: &[&str]) -> Result<Self> {
        Ok(match (name, settings) {
            ("constant", []) => Self::Constant,
            ("cosine", []) => Self::Cosine,
            ("step", [epochs, gamma]) => Self::Step {
                epochs: epoch(epochs)?,
                gamma: share(gamma)?,
            },
            ("multistep", [at, gamma]) => Self::Multistep {
                at: at.split(',').map(epoch).collect::<Result<_>>()?,
                gamma: share(gamma)?,
            },
            ("exponential", [gamma]) => Self::Exponential { gamma: share(gamma)? },
            ("onecycle", []) => Self::OneCycle { rising: 0.3 },
            ("onecycle", [rising]) => Self::OneCycle {
                rising: share(rising)?,
            },
            _ => bail!("it has too many or too few settings"),
        })
    }

    /// The learning rate of `step`, counted from 0, of `total` steps; `base` is the peak learning rate, and an epoch has
    /// `epoch_steps` steps. The first `warmup` epochs rise linearly from 0, except in one cycle, which has a warm-up of its own.
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
        let epoch = step / epoch_steps.max(1);
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

    /// `tests/library/schedules.rs` compares their other steps with PyTorch's, and `cli/settings.txt` lists
    /// how the forms are read.
    #[test]
    fn rates_count_epochs_and_begin_with_a_warm_up() {
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
        ] {
            let found = rates(text, warmup, first..first + expected.len() as u64);
            let same = found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-12);
            assert!(same, "{text}: {found:?}, expected {expected:?}");
        }
    }
}
