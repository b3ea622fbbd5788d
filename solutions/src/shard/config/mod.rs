//! The engine's configuration: a DeepSpeed JSON, read into the settings of a run.
//!
//! The keys and their defaults are those of <https://www.deepspeed.ai/docs/config-json/> and of the code behind it
//! (`deepspeed/runtime/config.py`, `engine.py`, `lr_schedules.py`, `ops/adam/fused_adam.py`, `ops/lamb/fused_lamb.py`).
//! What the file leaves out at the top level is left to the command line. Within `optimizer`, `scheduler` and `fp16`, a
//! key that is left out has DeepSpeed's default.

mod file;
mod json;

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

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
    pub settings: Table,
    /// `train_batch_size`, `train_micro_batch_size_per_gpu` and `gradient_accumulation_steps`.
    pub batch: BatchWanted,
    /// What a user should know of the file: keys without effect, differences to DeepSpeed.
    pub notes: Vec<String>,
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
    pub fn parse(text: &str) -> Result<Self> {
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Unique(mut json) = serde_json::from_str(text).context("this is not valid JSON")?;
        ensure!(
            json.is_object(),
            "the file is not an object, expected {{\"train_batch_size\": 32, …}}"
        );
        let mut out = Self::default();
        take_keys_without_a_setting(&mut json, &mut out.notes)?;
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
        out.precision(&file.fp16, &file.bf16)?;
        out.zero(&file.zero_optimization)?;
        if let Some(norm) = file.gradient_clipping {
            out.set("clip", norm);
        }
        if let Some(steps) = file.steps_per_print {
            out.set("steps-per-print", steps.get());
        }
        if let Some(on) = file.wall_clock_breakdown {
            out.set("wall-clock-breakdown", on);
        }
        Ok(out)
    }

    /// Sets an option; a later value replaces an earlier one.
    fn set(&mut self, option: &str, value: impl Into<Value>) {
        self.settings.insert(option.to_owned(), value.into());
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
                self.set("learning-rate", of.lr.unwrap_or(1e-3));
                self.set("beta1", beta1);
                self.set("beta2", beta2);
                self.set("eps", of.eps.unwrap_or(1e-8));
                self.set("weight-decay", of.weight_decay.unwrap_or(usual));
                self.notes.extend(match lower {
                    "lamb" => Some(LAMB.to_owned()),
                    "adam" if decoupled => Some(ADAM_IS_ADAMW.to_owned()),
                    _ => None,
                });
                match (lower, decoupled) {
                    ("lamb", _) => "lamb",
                    (_, true) => "adamw",
                    (_, false) => "adam",
                }
            }
            "sgd" => {
                let of: Sgd = read(params, at)?;
                self.set("learning-rate", of.lr.unwrap_or(1e-3));
                self.set("momentum", of.momentum);
                self.set("weight-decay", of.weight_decay);
                self.set("nesterov", of.nesterov);
                "sgd"
            }
            _ => bail!("optimizer.type is {kind:?}, expected \"Adam\", \"AdamW\", \"SGD\" or \"Lamb\""),
        };
        self.set("optimizer", name);
        Ok(())
    }

    /// DeepSpeed uses the scheduler's peak learning rate in place of the optimizer's.
    fn scheduler(&mut self, Typed { kind, mut params }: Typed) -> Result<()> {
        let (name, peak, usual) = match &*kind {
            "WarmupLR" => ("warmuplr", "warmup_max_lr", None),
            "WarmupDecayLR" => ("warmupdecaylr", "warmup_max_lr", Some(1e-3)),
            "WarmupCosineLR" => ("warmupcosinelr", "", None),
            _ => bail!(
                "scheduler.type is {kind:?}, expected \"WarmupLR\", \"WarmupDecayLR\" or \"WarmupCosineLR\""
            ),
        };
        let rate = match params.remove(peak) {
            Some(rate) => Some(read(rate, &format!("scheduler.params.{peak}"))?),
            None => usual,
        };
        if let (Some(rate), Some(old)) = (rate, self.settings.get("learning-rate"))
            && old.as_float() != Some(rate)
        {
            self.notes.push(format!(
                "optimizer.params.lr is {old}, without effect: the scheduler's {peak} is {rate}"
            ));
        }
        if let Some(rate) = rate {
            self.set("learning-rate", rate);
        }
        let schedule = Schedule::new(name, params).context("scheduler.params")?;
        self.set("schedule", schedule.to_string());
        // These schedules have a warm-up of their own.
        self.set("warmup", 0.0);
        Ok(())
    }

    /// DeepSpeed keeps the model's weights in the low precision, and updates them through fp32 copies.
    fn precision(&mut self, fp16: &Fp16, bf16: &Bf16) -> Result<()> {
        let (precision, scaling) = match (fp16.enabled, bf16.enabled) {
            (None, None) => return Ok(()),
            (Some(true), Some(true)) => {
                bail!("fp16.enabled and bf16.enabled are both true: a run has one of them")
            }
            (Some(true), _) if fp16.loss_scale == 0.0 => {
                let power = fp16.initial_scale_power.unwrap_or(16);
                let window = fp16.loss_scale_window.unwrap_or(1000);
                let rule = LossScaler::dynamic(power, window).context("fp16")?;
                ("fp16", Some(LossScaling::On(rule)))
            }
            (Some(true), _) => {
                let scaler = LossScaler::constant(fp16.loss_scale);
                ("fp16", Some(LossScaling::On(scaler)))
            }
            (_, Some(true)) => ("bf16", Some(LossScaling::Off)),
            _ => ("fp32", None),
        };
        self.set("precision", precision);
        if let Some(scaling) = scaling {
            self.set("master-weights", true);
            self.set("loss-scale", scaling.to_string());
        }
        Ok(())
    }

    fn zero(&mut self, zero: &ZeroOptimization) -> Result<()> {
        let stage = zero.stage;
        ensure!(
            stage <= 2,
            "zero_optimization.stage is {stage}, expected 0, 1 or 2"
        );
        let offload = zero.offload_optimizer.device == Place::Cpu;
        ensure!(
            !offload || stage >= 1,
            "zero_optimization.offload_optimizer needs stage 1 or 2, and the stage is {stage}"
        );
        ensure!(
            zero.offload_param.device == Place::None,
            "zero_optimization.offload_param: canopy keeps the parameters on the device; remove the key"
        );
        if let Some(on) = zero.overlap_comm {
            self.set("overlap", on);
        }
        if stage > 0 {
            self.set("zero", u32::from(stage));
        }
        if offload {
            self.set("offload-optimizer", true);
        }
        Ok(())
    }
}

/// The table `keys.toml`: the keys that have no setting in canopy. Some change nothing, some must have one value, some are refused.
#[derive(Deserialize)]
struct Keys {
    no_effect: Vec<String>,
    no_effect_without_fp16: Vec<String>,
    unsupported: Vec<String>,
    only: BTreeMap<String, Json>,
    refused: BTreeMap<String, String>,
}

/// Takes these keys out of `file`, and notes those without effect.
///
/// # Errors
/// Names the key that is refused, or that has another value than the only one that canopy knows.
fn take_keys_without_a_setting(file: &mut Json, notes: &mut Vec<String>) -> Result<()> {
    let keys: Keys = toml::from_str(include_str!("keys.toml"))?;
    for key in &keys.unsupported {
        let Some(value) = file.get(key) else { continue };
        ensure!(
            value.get("enabled") == Some(&json!(false)),
            "{key}: canopy has no counterpart of this DeepSpeed key; remove it"
        );
    }
    for (key, why) in &keys.refused {
        ensure!(take(file, key).is_none(), "{key}: {why}");
    }
    for (key, only) in &keys.only {
        if let Some(value) = take(file, key) {
            ensure!(
                value == *only,
                "{key} is {value}: canopy can do this only with {only}"
            );
        }
    }
    let mut idle = [keys.no_effect, keys.unsupported].concat();
    if file.pointer("/fp16/enabled") != Some(&json!(true)) {
        idle.extend(keys.no_effect_without_fp16);
    }
    idle.retain(|key| take(file, key).is_some());
    if !idle.is_empty() {
        notes.push(format!("without effect in canopy: {}", idle.join(", ")));
    }
    Ok(())
}

/// Removes the value at `key`, such as `optimizer.params.lr`.
fn take(file: &mut Json, key: &str) -> Option<Json> {
    let path = format!("/{}", key.replace('.', "/"));
    let (above, last) = path.rsplit_once('/')?;
    file.pointer_mut(above)?.as_object_mut()?.remove(last)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `cli/settings.txt` lists what other files give.
    #[test]
    fn a_file_that_is_no_object_or_cannot_be_read_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ds.json");
        let error = |path: &Path| format!("{:#}", EngineFile::read(path).unwrap_err());
        for (bytes, part) in [
            ("".as_bytes(), "this is not valid JSON: EOF"),
            (b"{\n\n\"gradient_clipping\": 1e400}", "out of range at line 3"),
            (b"[]", "not an object, expected {\"train_batch_size\""),
            (b"4", "not an object"),
            (&[0xff, 0xfe, 0], "cannot be read"),
        ] {
            fs::write(&path, bytes).unwrap();
            let said = error(&path);
            assert!(said.contains(part) && said.contains("ds.json"), "{said}");
        }
        for path in [dir.path(), &dir.path().join("missing.json")] {
            assert!(error(path).starts_with(&format!("{} cannot be read", path.display())));
        }
        assert_eq!(EngineFile::parse("\u{feff}{}").unwrap(), EngineFile::default());
    }
}
