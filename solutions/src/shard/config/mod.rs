//! The engine's configuration: a DeepSpeed JSON, read into the settings of a run.
//!
//! The keys and their defaults are those of <https://www.deepspeed.ai/docs/config-json/> and of the code behind it
//! (`deepspeed/runtime/config.py`, `engine.py`, `lr_schedules.py`, `ops/adam/fused_adam.py`, `ops/lamb/fused_lamb.py`).
//! What the file leaves out at the top level is left to the command line. Within `optimizer`, `scheduler` and `fp16`, a
//! key that is left out has DeepSpeed's default.

mod file;
mod json;
mod keys;
#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use toml::Value;

use super::BatchWanted;
use crate::{
    precision::{LossScaler, LossScaling},
    schedule::Schedule,
};
use file::{Adam, Bf16, File, Fp16, Place, Sgd, Typed, ZeroOptimization};
use json::Unique;

const LAMB: &str =
    "DeepSpeed's Lamb keeps the trust ratio between 0.01 and 10; canopy's does not limit it, as in the paper";
const ADAM_IS_ADAMW: &str = "optimizer.type \"Adam\" is AdamW, as in DeepSpeed; \"adam_w_mode\": false adds the weight \
    decay to the gradient";

/// A DeepSpeed JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineFile {
    /// The options of `canopy train` that it sets.
    pub settings: Vec<Setting>,
    /// `train_batch_size`, `train_micro_batch_size_per_gpu` and `gradient_accumulation_steps`.
    pub batch: BatchWanted,
    /// What a user should know of the file: keys without effect, differences to DeepSpeed.
    pub notes: Vec<String>,
}

/// An option that the file sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The option of `canopy train`, without dashes in front.
    pub option: &'static str,
    /// Its value.
    pub value: Value,
    /// The key in the file: `optimizer.params.lr`.
    pub key: String,
}

impl EngineFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Names the file, and the line of what is not JSON or the key whose value is wrong, with what was expected.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`EngineFile::read`], without the file's name.
    pub fn parse(text: &str) -> Result<Self> {
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Unique(mut json) = serde_json::from_str(text).context("this is not valid JSON")?;
        ensure!(
            json.is_object(),
            "the file is not an object, expected {{\"train_batch_size\": 32, …}}"
        );
        let mut out = Self::default();
        keys::take_those_without_a_setting(&mut json, &mut out.notes)?;
        let file: File = read(json, "")?;
        out.batch = BatchWanted {
            train: file.train_batch_size.map(usize::from),
            micro: file.train_micro_batch_size_per_gpu.map(usize::from),
            accumulation: file.gradient_accumulation_steps.map(usize::from),
        };
        if let Some(optimizer) = file.optimizer {
            out.optimizer(optimizer)?;
        }
        if let Some(scheduler) = file.scheduler {
            out.scheduler(scheduler)?;
        }
        out.precision(file.fp16, file.bf16)?;
        out.zero(file.zero_optimization)?;
        if let Some(norm) = file.gradient_clipping {
            out.set("clip", norm, "gradient_clipping");
        }
        if let Some(steps) = file.steps_per_print {
            out.set("steps-per-print", i64::from(steps.get()), "steps_per_print");
        }
        if let Some(on) = file.wall_clock_breakdown {
            out.set("wall-clock-breakdown", on, "wall_clock_breakdown");
        }
        Ok(out)
    }

    /// Sets an option; a later value replaces an earlier one. Returns the replaced setting.
    fn set(&mut self, option: &'static str, value: impl Into<Value>, key: &str) -> Option<Setting> {
        let setting = Setting {
            option,
            value: value.into(),
            key: key.to_owned(),
        };
        match self.settings.iter_mut().find(|s| s.option == option) {
            Some(old) => Some(std::mem::replace(old, setting)),
            None => {
                self.settings.push(setting);
                None
            }
        }
    }

    fn parameter(&mut self, option: &'static str, key: &str, value: impl Into<Value>) {
        self.set(option, value, &format!("optimizer.params.{key}"));
    }

    /// DeepSpeed's Adam is AdamW unless `adam_w_mode` is false.
    fn optimizer(&mut self, Typed { kind, params }: Typed) -> Result<()> {
        let params = Json::Object(params);
        let at = "optimizer.params.";
        let name = match &*kind.to_lowercase() {
            lower @ ("adam" | "adamw" | "lamb") => {
                let of: Adam = read(params, at)?;
                let decoupled = of.adam_w_mode.unwrap_or(true) || lower == "adamw";
                // torch.optim.AdamW has a default of its own.
                let usual = if decoupled && of.torch_adam { 0.01 } else { 0.0 };
                let [beta1, beta2] = of.betas.unwrap_or([0.9, 0.999]);
                self.parameter("learning-rate", "lr", of.lr.unwrap_or(1e-3));
                self.parameter("beta1", "betas", beta1);
                self.parameter("beta2", "betas", beta2);
                self.parameter("eps", "eps", format!("{:e}", of.eps.unwrap_or(1e-8)));
                self.parameter("weight-decay", "weight_decay", of.weight_decay.unwrap_or(usual));
                match (lower, decoupled) {
                    ("lamb", _) => {
                        self.notes.push(LAMB.into());
                        "lamb"
                    }
                    ("adam", true) => {
                        self.notes.push(ADAM_IS_ADAMW.into());
                        "adamw"
                    }
                    (_, true) => "adamw",
                    (_, false) => "adam",
                }
            }
            "sgd" => {
                let of: Sgd = read(params, at)?;
                self.parameter("learning-rate", "lr", of.lr.unwrap_or(1e-3));
                self.parameter("momentum", "momentum", of.momentum);
                self.parameter("weight-decay", "weight_decay", of.weight_decay);
                self.parameter("nesterov", "nesterov", of.nesterov);
                "sgd"
            }
            _ => bail!(
                "optimizer.type is {}, expected \"Adam\", \"AdamW\", \"SGD\" or \"Lamb\"",
                short(&kind)
            ),
        };
        self.set("optimizer", name, "optimizer.type");
        Ok(())
    }

    /// DeepSpeed uses the scheduler's peak learning rate in place of the optimizer's.
    fn scheduler(&mut self, Typed { kind, mut params }: Typed) -> Result<()> {
        let (name, peak, usual) = match &*kind {
            "WarmupLR" => ("warmuplr", "warmup_max_lr", None),
            "WarmupDecayLR" => ("warmupdecaylr", "warmup_max_lr", Some(1e-3)),
            "WarmupCosineLR" => ("warmupcosinelr", "", None),
            _ => bail!(
                "scheduler.type is {}, expected \"WarmupLR\", \"WarmupDecayLR\" or \"WarmupCosineLR\"",
                short(&kind)
            ),
        };
        let rate = match params.remove(peak) {
            Some(rate) => Some(read(rate, &format!("scheduler.params.{peak}"))?),
            None => usual,
        };
        if let Some(rate) = rate {
            let old = self.set("learning-rate", rate, &format!("scheduler.params.{peak}"));
            if let Some(old) = old.filter(|old| old.value.as_float() != Some(rate)) {
                self.notes.push(format!(
                    "{} is {}, without effect: the scheduler's {peak} is {rate}",
                    old.key, old.value
                ));
            }
        }
        let schedule = Schedule::new(name, params).context("scheduler.params")?;
        self.set("schedule", schedule.to_string(), "scheduler.type");
        // These schedules have a warm-up of their own.
        self.set("warmup", 0.0, "scheduler.type");
        Ok(())
    }

    fn precision(&mut self, fp16: Option<Fp16>, bf16: Option<Bf16>) -> Result<()> {
        let fp16 = fp16.unwrap_or_default();
        match (fp16.enabled, bf16.unwrap_or_default().enabled) {
            (Some(true), Some(true)) => {
                bail!("fp16.enabled and bf16.enabled are both true: a run has one of them")
            }
            (Some(true), _) => {
                let scaling = match fp16.loss_scale {
                    0.0 => {
                        let power = fp16.initial_scale_power.unwrap_or(16);
                        let window = fp16.loss_scale_window.unwrap_or(1000);
                        LossScaler::dynamic(power, window).context("fp16")?
                    }
                    scale => LossScaler::constant(scale),
                };
                let scaling = LossScaling::On(scaling);
                self.low_precision("fp16", scaling, "fp16.enabled");
            }
            (_, Some(true)) => self.low_precision("bf16", LossScaling::Off, "bf16.enabled"),
            (Some(false), _) => drop(self.set("precision", "fp32", "fp16.enabled")),
            (None, Some(false)) => drop(self.set("precision", "fp32", "bf16.enabled")),
            (None, None) => {}
        }
        Ok(())
    }

    /// DeepSpeed keeps the model's weights in the low precision, and updates them through fp32 copies.
    fn low_precision(&mut self, precision: &str, scaling: LossScaling, key: &str) {
        self.set("precision", precision, key);
        self.set("master-weights", true, key);
        self.set("loss-scale", scaling.to_string(), key);
    }

    fn zero(&mut self, zero: ZeroOptimization) -> Result<()> {
        let stage = zero.stage;
        ensure!(
            stage <= 3,
            "zero_optimization.stage is {stage}, expected 0, 1, 2 or 3"
        );
        let offload = zero.offload_optimizer.device == Place::Cpu;
        ensure!(
            !offload || stage >= 1,
            "zero_optimization.offload_optimizer needs stage 1, 2 or 3, and the stage is {stage}"
        );
        ensure!(
            zero.offload_param.device == Place::None,
            "zero_optimization.offload_param: canopy keeps the parameters on the device; remove the key"
        );
        if let Some(on) = zero.overlap_comm {
            self.set("overlap", on, "zero_optimization.overlap_comm");
        }
        if stage > 0 {
            self.set("zero", i64::from(stage), "zero_optimization.stage");
        }
        if offload {
            self.set("offload-optimizer", true, "zero_optimization.offload_optimizer");
        }
        Ok(())
    }
}

/// The text in quotes, at most 60 characters of it.
fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
    }
}

/// Reads the value at the key `at`; an object's `at` ends with a dot.
fn read<T: DeserializeOwned>(json: Json, at: &str) -> Result<T> {
    serde_path_to_error::deserialize(json).map_err(|error| {
        let text = match error.path().iter().next() {
            None => format!("{}: {}", at.trim_end_matches('.'), error.inner()),
            Some(_) => format!("{at}{error}"),
        };
        let hint = match text.contains("\"auto\"") {
            true => {
                ". Other programs fill in \"auto\"; to leave the setting to canopy's options, remove the key"
            }
            false => "",
        };
        anyhow!("{}{hint}", text.trim_start_matches(": "))
    })
}
