//! DeepSpeed's schedules by name. They count optimizer steps, not epochs, and have a warm-up of their own.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::{Cycle, Rise, Warmup, range_test_linear, warmup, warmup_cosine, warmup_decay};

/// A schedule of DeepSpeed with its settings. The peak learning rate is not among them; for the range test, the first one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DeepSpeed {
    WarmupLr {
        up: Warmup,
        least: f64,
    },
    WarmupDecayLr {
        up: Warmup,
        total: u64,
        least: f64,
    },
    WarmupCosineLr {
        up: Warmup,
        total: u64,
        first: f64,
        last: f64,
    },
    LrRangeTest {
        size: u64,
        rate: f64,
        staircase: bool,
    },
    OneCycle(Cycle),
}

/// The forms of these schedules, for error messages.
pub(super) const FORMS: &str = "warmuplr:steps=N:min=RATE:rise=log|linear, \
    warmupdecaylr:total=N:steps=N:min=RATE:rise=log|linear, \
    warmupcosinelr:total=N:steps=N:min=SHARE:end=SHARE:rise=log|linear, \
    lrrangetest:steps=N:growth=X:stairs=true|false or \
    cycle:min=RATE:up=N:down=N:up-stairs=N:down-stairs=N:decay=X:decay-steps=N";

impl DeepSpeed {
    /// Parses `warmuplr:steps=1000:min=0:rise=log` and the other forms. A setting that is left out has DeepSpeed's default;
    /// `total`, and `min` of a cycle, have none. Returns `None` if the name is another schedule's.
    ///
    /// # Errors
    /// Returns an error if a setting is unknown, missing or out of range.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let names = [
            "warmuplr",
            "warmupdecaylr",
            "warmupcosinelr",
            "lrrangetest",
            "cycle",
        ];
        if !names.contains(&name) {
            return Ok(None);
        }
        let mut settings = Settings::parse(rest)?;
        let schedule = match name {
            "warmuplr" => Self::WarmupLr {
                up: settings.warmup(u64::MAX)?,
                least: settings.number("min", Some(0.0))?,
            },
            "warmupdecaylr" => {
                let total = settings.whole("total", None)?;
                Self::WarmupDecayLr {
                    up: settings.warmup(total)?,
                    total,
                    least: settings.number("min", Some(0.0))?,
                }
            }
            "warmupcosinelr" => {
                let total = settings.whole("total", None)?;
                Self::WarmupCosineLr {
                    up: settings.warmup(total)?,
                    total,
                    first: settings.share("min", 0.0)?,
                    last: settings.share("end", 1e-4)?,
                }
            }
            "lrrangetest" => Self::LrRangeTest {
                size: settings.positive("steps", 2000)?,
                rate: settings.number("growth", Some(1.0))?,
                staircase: settings.choice("stairs", &[("false", false), ("true", true)])?,
            },
            _ => Self::OneCycle(settings.cycle()?),
        };
        settings.finish()?;
        Ok(Some(schedule))
    }

    /// The learning rate of the run's step `step`, counted from 0, with peak (or first) learning rate `base`.
    ///
    /// DeepSpeed advances its schedule after each step, so step t has the rate of `last_batch_iteration` = t − 1. The
    /// first step has the rate that the schedule starts with.
    pub fn rate(&self, step: u64, base: f64) -> f64 {
        let last = step.saturating_sub(1);
        match *self {
            Self::WarmupLr { up, least } => warmup(last, up, least, base),
            Self::WarmupDecayLr { up, total, least } => warmup_decay(last, up, total, least, base),
            // It starts at 0, whatever the minimum is.
            Self::WarmupCosineLr { .. } if step == 0 => 0.0,
            Self::WarmupCosineLr {
                up,
                total,
                first,
                last: end,
            } => warmup_cosine(last, up, total, base, first, end),
            Self::LrRangeTest { .. } if step == 0 => base,
            Self::LrRangeTest {
                size,
                rate,
                staircase,
            } => range_test_linear(last, base, size, rate, staircase),
            Self::OneCycle(ref cycle) => cycle.rate(step, base),
        }
    }
}

/// `KEY=VALUE` settings, separated by colons. Each is removed when it is read, so that [`Self::finish`] finds unknown ones.
struct Settings<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Settings<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let mut settings = BTreeMap::new();
        for part in text.split(':').filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .with_context(|| format!("'{part}' is not KEY=VALUE; use {FORMS}"))?;
            ensure!(settings.insert(key, value).is_none(), "'{key}' appears twice");
        }
        Ok(Self(settings))
    }

    fn number(&mut self, key: &str, default: Option<f64>) -> Result<f64> {
        let Some(text) = self.0.remove(key) else {
            return default.with_context(|| format!("'{key}' is missing; use {FORMS}"));
        };
        let number: f64 = text
            .parse()
            .with_context(|| format!("{key} is '{text}', expected a number"))?;
        ensure!(
            number.is_finite() && number >= 0.0,
            "{key} is {text}: it must be finite and at least 0"
        );
        Ok(number)
    }

    fn share(&mut self, key: &str, default: f64) -> Result<f64> {
        let share = self.number(key, Some(default))?;
        ensure!(share <= 1.0, "{key} is {share}: it must be between 0 and 1");
        Ok(share)
    }

    fn whole(&mut self, key: &str, default: Option<u64>) -> Result<u64> {
        match self.0.remove(key) {
            Some(text) => text
                .parse()
                .with_context(|| format!("{key} is '{text}', expected a whole number of steps")),
            None => default.with_context(|| format!("'{key}' is missing; use {FORMS}")),
        }
    }

    fn positive(&mut self, key: &str, default: u64) -> Result<u64> {
        let whole = self.whole(key, Some(default))?;
        ensure!(whole > 0, "{key} is 0: it must be at least 1");
        Ok(whole)
    }

    fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Result<T> {
        let text = self.0.remove(key).unwrap_or(choices[0].0);
        let choice = choices.iter().find(|(name, _)| *name == text);
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        choice
            .map(|(_, value)| *value)
            .with_context(|| format!("{key} is '{text}', expected {}", names.join(" or ")))
    }

    fn warmup(&mut self, total: u64) -> Result<Warmup> {
        let steps = self.positive("steps", 1000)?;
        ensure!(
            steps <= total,
            "the warm-up has {steps} steps and the whole schedule {total}"
        );
        let rise = self.choice("rise", &[("log", Rise::Log), ("linear", Rise::Linear)])?;
        Ok(Warmup { steps, rise })
    }

    fn cycle(&mut self) -> Result<Cycle> {
        let up = self.positive("up", 2000)?;
        let up_stairs = self.whole("up-stairs", Some(0))?;
        Ok(Cycle {
            least: self.number("min", None)?,
            up,
            down: self.positive("down", up)?,
            up_stairs,
            down_stairs: self.whole("down-stairs", Some(up_stairs))?,
            decay: self.number("decay", Some(0.0))?,
            decay_steps: self.whole("decay-steps", Some(0))?,
        })
    }

    fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            Some(key) => bail!("there is no setting '{key}'; use {FORMS}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str, step: u64) -> f64 {
        let schedule = DeepSpeed::parse(text).expect(text).expect("a schedule");
        schedule.rate(step, 1.0)
    }

    /// After the first step, the rates are those of `tests/library/schedules.rs`, one step later.
    #[test]
    fn the_first_step_has_the_rate_that_deepspeed_starts_with() {
        for (text, first, second) in [
            ("warmuplr:steps=8:min=0.25", 0.25, 0.25),
            ("warmupdecaylr:total=9:steps=8", 0.0, 0.0),
            ("warmupcosinelr:total=9:steps=8:min=0.5", 0.0, 0.5),
            ("lrrangetest:steps=4:growth=2", 1.0, 1.5),
            ("cycle:min=0.5:up=4", 0.5, 0.625),
        ] {
            assert_eq!((rate(text, 0), rate(text, 1)), (first, second), "{text}");
        }
    }

    #[test]
    fn settings_that_are_left_out_have_deepspeeds_defaults() {
        assert_eq!(
            DeepSpeed::parse("warmuplr").unwrap(),
            DeepSpeed::parse("warmuplr:steps=1000:min=0:rise=log").unwrap()
        );
        assert_eq!(
            DeepSpeed::parse("cycle:min=0").unwrap(),
            DeepSpeed::parse("cycle:min=0:up=2000:down=2000:up-stairs=0:down-stairs=0:decay=0:decay-steps=0")
                .unwrap()
        );
        assert_eq!(rate("warmuplr:steps=4:rise=linear", 3), 0.5);
        assert_eq!(rate("lrrangetest:steps=2:stairs=true", 3), 2.0);
    }

    #[test]
    fn a_setting_that_is_unknown_missing_or_out_of_range_is_an_error() {
        for (text, part) in [
            ("warmuplr:steps=0", "steps is 0"),
            ("warmuplr:steps=x", "steps is 'x'"),
            ("warmuplr:5", "'5' is not KEY=VALUE"),
            ("warmuplr:min=NaN", "min is NaN"),
            ("warmuplr:rise=fast", "rise is 'fast'"),
            ("warmuplr:min=0:min=1", "'min' appears twice"),
            ("warmuplr:end=0", "no setting 'end'"),
            ("warmupdecaylr", "'total' is missing"),
            (
                "warmupdecaylr:total=9:steps=10",
                "10 steps and the whole schedule 9",
            ),
            ("warmupcosinelr:total=9:steps=8:end=2", "end is 2"),
            ("cycle", "'min' is missing"),
            ("cycle:min=0:up=0", "up is 0"),
        ] {
            let error = format!("{:#}", DeepSpeed::parse(text).expect_err(text));
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
