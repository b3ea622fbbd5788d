//! A schedule by its name, as in `--schedule`.

use anyhow::{Context, Result, bail, ensure};

use super::{
    Decay, OneCycle, cosine_with_warmup, decayed,
    deepspeed::{self, DeepSpeed},
};

/// A schedule over a run's epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Epochs of linear warm-up; one cycle and DeepSpeed's schedules have a warm-up of their own.
    warmup: f64,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Constant,
    Cosine,
    Falling { when: Decay, gamma: f64 },
    OneCycle { rising: f64 },
    DeepSpeed(DeepSpeed),
}

/// The forms of a schedule, for error messages.
const FORMS: &str = "constant, cosine, step:EPOCHS:GAMMA, multistep:EPOCH,EPOCH,…:GAMMA, exponential:GAMMA, \
                     onecycle[:RISING]";

impl Schedule {
    /// `constant`, `cosine`, `step:20:0.7`, `multistep:30,60:0.1`, `exponential:0.97`, `onecycle` or `onecycle:0.3`,
    /// each after `warmup` epochs of warm-up, except one cycle; or one of DeepSpeed's, such as `warmuplr:steps=1000`, which
    /// count steps and have a warm-up of their own.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, or if a number is missing, superfluous or out of range.
    pub fn parse(text: &str, warmup: f64) -> Result<Self> {
        if let Some(kind) = DeepSpeed::parse(text).with_context(|| format!("schedule '{text}'"))? {
            let kind = Kind::DeepSpeed(kind);
            return Ok(Self { warmup, kind });
        }
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<&str> = parts.collect();
        let kind = match (name, numbers.as_slice()) {
            ("constant", []) => Kind::Constant,
            ("cosine", []) => Kind::Cosine,
            ("step", [epochs, gamma]) => Kind::Falling {
                when: Decay::Step(whole(text, epochs)?),
                gamma: factor(text, gamma)?,
            },
            ("multistep", [at, gamma]) => Kind::Falling {
                when: Decay::Milestones(at.split(',').map(|e| whole(text, e)).collect::<Result<_>>()?),
                gamma: factor(text, gamma)?,
            },
            ("exponential", [gamma]) => Kind::Falling {
                when: Decay::Exponential,
                gamma: factor(text, gamma)?,
            },
            ("onecycle", []) => Kind::OneCycle { rising: 0.3 },
            ("onecycle", [rising]) => Kind::OneCycle {
                rising: factor(text, rising)?,
            },
            _ => bail!("there is no schedule '{text}': use {FORMS}, {}", deepspeed::FORMS),
        };
        Ok(Self { warmup, kind })
    }

    /// The learning rate of `step`, counted from 0, of `total` steps; `base` is the peak learning rate, and an epoch has
    /// `epoch_steps` steps.
    ///
    /// # Errors
    /// Returns an error for one cycle if the step is past its end or if the run has a single step.
    pub fn rate(&self, step: u64, epoch_steps: u64, total: u64, base: f64) -> Result<f64> {
        match self.kind {
            Kind::OneCycle { rising } => {
                let cycle = OneCycle {
                    rising,
                    ..OneCycle::new(base, total)
                };
                return Ok(cycle.at(step)?.0);
            }
            Kind::DeepSpeed(ref schedule) => return Ok(schedule.rate(step, base)),
            _ => {}
        }
        let warmup = ((self.warmup * epoch_steps as f64).round() as u64).min(total);
        if step < warmup {
            return Ok(cosine_with_warmup(step, warmup, total, base, 0.0));
        }
        let epoch = step / epoch_steps.max(1);
        Ok(match &self.kind {
            Kind::Cosine => cosine_with_warmup(step, warmup, total, base, 0.0),
            Kind::Falling { when, gamma } => decayed(when, epoch, *gamma, base),
            Kind::Constant | Kind::OneCycle { .. } | Kind::DeepSpeed(_) => base,
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
        let schedule = Schedule::parse(text, warmup).expect(text);
        let rate = |t| schedule.rate(t, 4, 24, 1.0).expect("within the run");
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
            assert!(Schedule::parse(text, 0.0).is_err(), "{text}");
        }
        let error = Schedule::parse("cos", 0.0).expect_err("no schedule").to_string();
        assert!(
            error.contains("'cos'") && error.contains("step:EPOCHS:GAMMA"),
            "{error}"
        );
    }
}
