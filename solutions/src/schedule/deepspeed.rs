//! DeepSpeed's schedules by name. They count optimizer steps, not epochs, and have a warm-up of their own.

use std::fmt;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Cycle, Rise, Warmup, range_test_linear, warmup, warmup_cosine, warmup_decay};

/// A schedule of DeepSpeed with its settings. The peak learning rate is not among them; for the range test, the first one.
///
/// A setting has the key of `--schedule warmuplr:steps=1000`, and that of DeepSpeed's JSON as an alias. What is left out has
/// DeepSpeed's default.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DeepSpeed {
    /// Warm-up, then constant.
    WarmupLr(WarmupLr),
    /// Warm-up, then a straight line to 0.
    WarmupDecayLr(WarmupDecayLr),
    /// Warm-up, then a cosine.
    WarmupCosineLr(WarmupCosineLr),
    /// A learning rate that only rises.
    LrRangeTest(LrRangeTest),
    /// Up, down, and a decay.
    OneCycle(Cycle),
}

/// The settings of [`DeepSpeed::WarmupLr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of `--schedule`")]
pub struct WarmupLr {
    #[serde(alias = "warmup_num_steps")]
    pub steps: u64,
    #[serde(alias = "warmup_type")]
    pub rise: Rise,
    #[serde(alias = "warmup_min_lr")]
    pub min: f64,
}

/// The settings of [`DeepSpeed::WarmupDecayLr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of `--schedule`")]
pub struct WarmupDecayLr {
    #[serde(alias = "total_num_steps")]
    pub total: u64,
    #[serde(alias = "warmup_num_steps", default = "thousand")]
    pub steps: u64,
    #[serde(alias = "warmup_type", default)]
    pub rise: Rise,
    #[serde(alias = "warmup_min_lr", default)]
    pub min: f64,
}

/// The settings of [`DeepSpeed::WarmupCosineLr`]. `min` and `end` are shares of the peak learning rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of `--schedule`")]
pub struct WarmupCosineLr {
    #[serde(alias = "total_num_steps")]
    pub total: u64,
    #[serde(alias = "warmup_num_steps", default = "thousand")]
    pub steps: u64,
    #[serde(alias = "warmup_type", default)]
    pub rise: Rise,
    #[serde(alias = "warmup_min_ratio", default)]
    pub min: f64,
    #[serde(alias = "cos_min_ratio", default = "least_share")]
    pub end: f64,
}

/// The settings of [`DeepSpeed::LrRangeTest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of `--schedule`")]
pub struct LrRangeTest {
    #[serde(alias = "lr_range_test_step_size")]
    pub steps: u64,
    #[serde(alias = "lr_range_test_step_rate")]
    pub growth: f64,
    #[serde(alias = "lr_range_test_staircase")]
    pub stairs: bool,
}

fn thousand() -> u64 {
    1000
}

fn least_share() -> f64 {
    1e-4
}

impl Default for WarmupLr {
    fn default() -> Self {
        Self {
            steps: thousand(),
            rise: Rise::Log,
            min: 0.0,
        }
    }
}

impl Default for LrRangeTest {
    fn default() -> Self {
        Self {
            steps: 2000,
            growth: 1.0,
            stairs: false,
        }
    }
}

/// The forms of these schedules, for error messages.
pub(super) const FORMS: &str = "warmuplr:steps=N:rise=log|linear:min=RATE, \
    warmupdecaylr:total=N:steps=N:rise=log|linear:min=RATE, \
    warmupcosinelr:total=N:steps=N:rise=log|linear:min=SHARE:end=SHARE, \
    lrrangetest:steps=N:growth=X:stairs=true|false or \
    cycle:min=RATE:up=N:down=N:up-stairs=N:down-stairs=N:decay=X:decay-steps=N";

impl DeepSpeed {
    /// The schedule `name`, such as `warmuplr`, or as DeepSpeed spells it, with `settings`. `None` if the name is another's.
    ///
    /// # Errors
    /// Names the setting that is unknown, missing or out of range.
    pub fn new(name: &str, settings: Map<String, Value>) -> Result<Option<Self>> {
        if let Some((key, value)) = settings
            .iter()
            .find(|(_, value)| value.as_f64().is_some_and(|n| n < 0.0))
        {
            bail!("{key} is {value}: it must be at least 0");
        }
        let schedule = match name {
            "warmuplr" | "WarmupLR" => Self::WarmupLr(read(settings)?),
            "warmupdecaylr" | "WarmupDecayLR" => Self::WarmupDecayLr(read(settings)?),
            "warmupcosinelr" | "WarmupCosineLR" => Self::WarmupCosineLr(read(settings)?),
            "lrrangetest" | "LRRangeTest" => Self::LrRangeTest(read(settings)?),
            "cycle" | "OneCycle" => Self::OneCycle(read(settings)?),
            _ => return Ok(None),
        };
        schedule.validate()?;
        Ok(Some(schedule))
    }

    /// Parses `warmuplr:steps=1000:rise=log` and the other forms.
    ///
    /// # Errors
    /// As [`DeepSpeed::new`].
    pub(super) fn parse(text: &str) -> Result<Option<Self>> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let mut settings = Map::new();
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            let old = settings.insert(key.to_owned(), json(value));
            ensure!(old.is_none(), "'{key}' appears twice");
        }
        let schedule = Self::new(name, settings)?;
        let odd = text
            .split(':')
            .skip(1)
            .find(|part| !part.is_empty() && !part.contains('='));
        match (schedule.is_some(), odd) {
            (true, Some(part)) => bail!("'{part}' is not KEY=VALUE; use {FORMS}"),
            _ => Ok(schedule),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::WarmupLr(_) => "warmuplr",
            Self::WarmupDecayLr(_) => "warmupdecaylr",
            Self::WarmupCosineLr(_) => "warmupcosinelr",
            Self::LrRangeTest(_) => "lrrangetest",
            Self::OneCycle(_) => "cycle",
        }
    }

    fn validate(&self) -> Result<()> {
        let (steps, total) = match self {
            Self::WarmupLr(s) => (s.steps, u64::MAX),
            Self::WarmupDecayLr(s) => (s.steps, s.total),
            Self::WarmupCosineLr(s) => (s.steps, s.total),
            Self::LrRangeTest(s) => (s.steps, u64::MAX),
            Self::OneCycle(cycle) => (cycle.up.min(cycle.down), u64::MAX),
        };
        ensure!(steps > 0, "a number of steps is 0: it must be at least 1");
        ensure!(
            steps <= total,
            "the warm-up has {steps} steps, more than the whole schedule with {total}"
        );
        if let Self::WarmupCosineLr(s) = self {
            for (key, share) in [("min", s.min), ("end", s.end)] {
                ensure!(share <= 1.0, "{key} is {share}: it must be between 0 and 1");
            }
        }
        Ok(())
    }

    /// The learning rate of the run's step `step`, counted from 0, with peak (or first) learning rate `base`.
    ///
    /// DeepSpeed advances its schedule after each step, so step t has the rate of `last_batch_iteration` = t − 1. The
    /// first step has the rate that the schedule starts with.
    pub(super) fn rate(&self, step: u64, base: f64) -> f64 {
        let last = step.saturating_sub(1);
        let up = |steps, rise| Warmup { steps, rise };
        match self {
            Self::WarmupLr(s) => warmup(last, up(s.steps, s.rise), s.min, base),
            Self::WarmupDecayLr(s) => warmup_decay(last, up(s.steps, s.rise), s.total, s.min, base),
            // It starts at 0, whatever the minimum is.
            Self::WarmupCosineLr(_) if step == 0 => 0.0,
            Self::WarmupCosineLr(s) => warmup_cosine(last, up(s.steps, s.rise), s.total, base, s.min, s.end),
            Self::LrRangeTest(_) if step == 0 => base,
            Self::LrRangeTest(s) => range_test_linear(last, base, s.steps, s.growth, s.stairs),
            Self::OneCycle(cycle) => cycle.rate(step, base),
        }
    }
}

/// The form that `--schedule` reads, with every setting.
impl fmt::Display for DeepSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let settings = serde_json::to_value(self).map_err(|_| fmt::Error)?;
        for (key, value) in settings.as_object().into_iter().flatten() {
            match (value.as_u64(), value.as_f64(), value.as_str()) {
                (None, Some(number), _) => write!(f, ":{key}={number}")?,
                (_, _, Some(text)) => write!(f, ":{key}={text}")?,
                _ => write!(f, ":{key}={value}")?,
            }
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned>(settings: Map<String, Value>) -> Result<T> {
    Ok(serde_path_to_error::deserialize(Value::Object(settings))?)
}

/// `text` as a number or a flag if it is one.
fn json(text: &str) -> Value {
    let number = serde_json::from_str(text).ok();
    number
        .filter(|value: &Value| value.is_number() || value.is_boolean())
        .unwrap_or_else(|| text.into())
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
    fn settings_that_are_left_out_have_deepspeeds_defaults_and_all_are_printed() {
        for (text, whole) in [
            ("warmuplr", "warmuplr:steps=1000:rise=log:min=0"),
            (
                "warmupdecaylr:total=2000",
                "warmupdecaylr:total=2000:steps=1000:rise=log:min=0",
            ),
            (
                "warmupcosinelr:total=20:steps=3",
                "warmupcosinelr:total=20:steps=3:rise=log:min=0:end=0.0001",
            ),
            ("lrrangetest", "lrrangetest:steps=2000:growth=1:stairs=false"),
            (
                "cycle:min=0:up=7",
                "cycle:min=0:up=7:down=7:up-stairs=0:down-stairs=0:decay=0:decay-steps=0",
            ),
        ] {
            let schedule = DeepSpeed::parse(text).unwrap().unwrap();
            assert_eq!(schedule.to_string(), whole);
            assert_eq!(DeepSpeed::parse(whole).unwrap().unwrap(), schedule);
        }
        assert_eq!(rate("warmuplr:steps=4:rise=linear", 3), 0.5);
        assert_eq!(rate("lrrangetest:steps=2:stairs=true", 3), 2.0);
    }

    #[test]
    fn a_setting_that_is_unknown_missing_or_out_of_range_is_an_error() {
        for (text, part) in [
            ("warmuplr:steps=0", "steps is 0"),
            ("warmuplr:steps=x", "steps: invalid type: string \"x\""),
            ("warmuplr:5", "'5' is not KEY=VALUE"),
            ("warmuplr:min=NaN", "min: invalid type: string \"NaN\""),
            ("warmuplr:min=-1", "min is -1"),
            ("warmuplr:rise=fast", "unknown variant `fast`"),
            ("warmuplr:min=0:min=1", "'min' appears twice"),
            ("warmuplr:end=0", "unknown field `end`"),
            ("warmupdecaylr", "missing field `total`"),
            (
                "warmupdecaylr:total=9:steps=10",
                "10 steps, more than the whole schedule with 9",
            ),
            ("warmupcosinelr:total=9:steps=8:end=2", "end is 2"),
            ("cycle", "missing field `min`"),
            ("cycle:min=0:up=0", "steps is 0"),
        ] {
            let error = format!("{:#}", DeepSpeed::parse(text).expect_err(text));
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
