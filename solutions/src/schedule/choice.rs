//! A schedule by its name, as in `--schedule`.

use std::{fmt, str::FromStr};

use anyhow::{Context, Error, Result, bail, ensure};

use super::{
    Decay, OneCycle, cosine_with_warmup, decayed,
    deepspeed::{self, DeepSpeed},
};

/// A schedule over a run's epochs: `constant`, `cosine`, `step:20:0.7`, `multistep:30,60:0.1`, `exponential:0.97`, `onecycle`
/// or `onecycle:0.3`; or one of DeepSpeed's, such as `warmuplr:steps=1000`, which count steps.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the field's names")]
pub enum Schedule {
    Constant,
    Cosine,
    Falling { when: Decay, gamma: f64 },
    OneCycle { rising: f64 },
    DeepSpeed(DeepSpeed),
}

/// The forms of a schedule, for error messages.
const FORMS: &str = "constant, cosine, step:EPOCHS:GAMMA, multistep:EPOCH,EPOCH,…:GAMMA, exponential:GAMMA, \
                     onecycle[:RISING]";

impl FromStr for Schedule {
    type Err = Error;

    /// # Errors
    /// Returns an error if the name is unknown, or if a number is missing, superfluous or out of range.
    fn from_str(text: &str) -> Result<Self> {
        if let Some(schedule) = DeepSpeed::parse(text).with_context(|| format!("schedule '{text}'"))? {
            return Ok(Self::DeepSpeed(schedule));
        }
        let falling = |when, gamma| -> Result<Self> {
            let gamma = factor(text, gamma)?;
            Ok(Self::Falling { when, gamma })
        };
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            ["constant"] => Ok(Self::Constant),
            ["cosine"] => Ok(Self::Cosine),
            ["step", epochs, gamma] => falling(Decay::Step(whole(text, epochs)?), gamma),
            ["multistep", at, gamma] => {
                let at = at.split(',').map(|epoch| whole(text, epoch));
                falling(Decay::Milestones(at.collect::<Result<_>>()?), gamma)
            }
            ["exponential", gamma] => falling(Decay::Exponential, gamma),
            ["onecycle"] => Ok(Self::OneCycle { rising: 0.3 }),
            ["onecycle", rising] => Ok(Self::OneCycle {
                rising: factor(text, rising)?,
            }),
            _ => bail!("there is no schedule '{text}': use {FORMS}, {}", deepspeed::FORMS),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Cosine => f.write_str("cosine"),
            Self::Falling { when, gamma } => match when {
                Decay::Step(epochs) => write!(f, "step:{epochs}:{gamma}"),
                Decay::Milestones(at) => {
                    let at: Vec<String> = at.iter().map(u64::to_string).collect();
                    write!(f, "multistep:{}:{gamma}", at.join(","))
                }
                Decay::Exponential => write!(f, "exponential:{gamma}"),
            },
            Self::OneCycle { rising } => write!(f, "onecycle:{rising}"),
            Self::DeepSpeed(schedule) => schedule.fmt(f),
        }
    }
}

impl Schedule {
    /// The learning rate of `step`, counted from 0, of `total` steps; `base` is the peak learning rate, and an epoch has
    /// `epoch_steps` steps. The first `warmup` epochs rise linearly from 0, except in one cycle and in DeepSpeed's schedules,
    /// which have a warm-up of their own.
    ///
    /// # Errors
    /// Returns an error for one cycle if the step is past its end or if the run has a single step.
    pub fn rate(&self, step: u64, [epoch_steps, total]: [u64; 2], warmup: f64, base: f64) -> Result<f64> {
        let warmup = ((warmup * epoch_steps as f64).round() as u64).min(total);
        let warming = || cosine_with_warmup(step, warmup, total, base, 0.0);
        Ok(match self {
            Self::OneCycle { rising } => {
                let cycle = OneCycle {
                    rising: *rising,
                    ..OneCycle::new(base, total)
                };
                cycle.at(step)?.0
            }
            Self::DeepSpeed(schedule) => schedule.rate(step, base),
            Self::Cosine => warming(),
            _ if step < warmup => warming(),
            Self::Falling { when, gamma } => decayed(when, step / epoch_steps.max(1), *gamma, base),
            Self::Constant => base,
        })
    }
}

fn whole(text: &str, part: &str) -> Result<u64> {
    let number: u64 = part.parse().with_context(|| {
        format!("schedule '{text}': '{part}' is not a whole number of epochs; use {FORMS}")
    })?;
    ensure!(
        number > 0,
        "schedule '{text}': a number of epochs is 0; it must be at least 1"
    );
    Ok(number)
}

fn factor(text: &str, part: &str) -> Result<f64> {
    let number: f64 = part
        .parse()
        .with_context(|| format!("schedule '{text}': '{part}' is not a number; use {FORMS}"))?;
    ensure!(
        (0.0..=1.0).contains(&number),
        "schedule '{text}': {part} must be between 0 and 1"
    );
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str, warmup: f64, steps: std::ops::Range<u64>) -> Vec<f64> {
        let schedule: Schedule = text.parse().expect(text);
        assert_eq!(schedule.to_string().parse::<Schedule>().expect(text), schedule);
        let rate = |t| schedule.rate(t, [4, 24], warmup, 1.0).expect("within the run");
        steps.map(rate).collect()
    }

    #[test]
    fn decays_count_epochs_of_steps() {
        assert_eq!(
            rates("step:2:0.5", 0.0, 6..10),
            [1.0, 1.0, 0.5, 0.5],
            "an epoch has four steps"
        );
        assert_eq!(rates("multistep:1,2:0.5", 0.0, 3..5), [1.0, 0.5]);
        assert_eq!(rates("exponential:0.5", 0.0, 8..9), [0.25]);
    }

    #[test]
    fn every_schedule_except_one_cycle_begins_with_the_warm_up() {
        for text in [
            "constant",
            "cosine",
            "step:9:0.1",
            "multistep:9:0.1",
            "exponential:1",
        ] {
            assert_eq!(rates(text, 1.0, 0..4), [0.25, 0.5, 0.75, 1.0], "{text}");
        }
        assert!((rates("onecycle", 1.0, 0..1)[0] - 0.04).abs() < 1e-12);
    }

    #[test]
    fn an_unknown_schedule_is_an_error_that_lists_the_forms() {
        for text in [
            "",
            "cos",
            "cosine:1",
            "step",
            "step:0:0.5",
            "step:2:NaN",
            "step:2:1.5",
            "multistep::0.1",
            "multistep:1,x:0.1",
            "exponential:-1",
            "onecycle:2",
        ] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
        let error = "cos".parse::<Schedule>().expect_err("no schedule").to_string();
        assert!(
            error.contains("'cos'") && error.contains("step:EPOCHS:GAMMA"),
            "{error}"
        );
    }
}
