//! The engine's configuration: a DeepSpeed JSON, read into the settings of a run.
//!
//! The keys and their defaults are those of <https://www.deepspeed.ai/docs/config-json/> and of the code behind it
//! (`deepspeed/runtime/config.py`, `engine.py`, `lr_schedules.py`, `ops/adam/fused_adam.py`, `ops/lamb/fused_lamb.py`).
//! What the file leaves out at the top level is left to the command line. Within `optimizer`, `scheduler` and `fp16`, a
//! key that is left out has DeepSpeed's default.

mod block;
mod json;
mod optimizer;
mod precision;
mod scheduler;
#[cfg(test)]
mod tests;
mod zero;

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use toml::Value;

use super::BatchWanted;
use block::Block;
use json::Json;
pub use zero::Zero;

/// A DeepSpeed JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineFile {
    /// The options of `canopy train` that it sets.
    pub settings: Vec<Setting>,
    /// `train_batch_size`, `train_micro_batch_size_per_gpu` and `gradient_accumulation_steps`.
    pub batch: BatchWanted,
    /// `zero_optimization`.
    pub zero: Zero,
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

/// Keys of DeepSpeed's that have no effect in canopy.
const IDLE: [&str; 7] = [
    "prescale_gradients",
    "gradient_predivide_factor",
    "communication_data_type",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "memory_breakdown",
    "dump_state",
];

const KNOWN: [&str; 11] = [
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "optimizer",
    "scheduler",
    "fp16",
    "bf16",
    "gradient_clipping",
    "zero_optimization",
    "steps_per_print",
    "wall_clock_breakdown",
];

/// Keys of DeepSpeed's for what canopy does not do; accepted if `enabled` is false.
const UNSUPPORTED: [&str; 22] = [
    "activation_checkpointing",
    "aio",
    "amp",
    "autotuning",
    "checkpoint",
    "comms_logger",
    "compression_training",
    "csv_monitor",
    "curriculum_learning",
    "data_efficiency",
    "data_types",
    "elasticity",
    "flops_profiler",
    "hybrid_engine",
    "pipeline",
    "progressive_layer_drop",
    "quantize_training",
    "sparse_attention",
    "sparse_gradients",
    "tensorboard",
    "torch_autocast",
    "wandb",
];

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
        let json: Json = serde_json::from_str(text).context("this is not valid JSON")?;
        let file = Block::whole(&json)?;
        for key in UNSUPPORTED.iter().filter(|key| file.has(key)) {
            let off = matches!(file.block(key), Ok(Some(block)) if matches!(block.flag("enabled"), Ok(Some(false))));
            ensure!(
                off,
                "{key}: canopy has no counterpart of this DeepSpeed key; remove it"
            );
        }
        file.expect_keys("a DeepSpeed configuration", &[&KNOWN, &IDLE, &UNSUPPORTED])?;
        let mut out = Self::default();
        let size = |key| -> Result<Option<usize>> { Ok(file.integer(key, 1)?.map(|n| n as usize)) };
        out.batch = BatchWanted {
            train: size("train_batch_size")?,
            micro: size("train_micro_batch_size_per_gpu")?,
            accumulation: size("gradient_accumulation_steps")?,
        };
        optimizer::read(&file, &mut out)?;
        scheduler::read(&file, &mut out)?;
        precision::read(&file, &mut out)?;
        zero::read(&file, &mut out)?;
        if let Some(norm) = file.number("gradient_clipping", 0.0)? {
            out.set("clip", norm, file.path("gradient_clipping"));
        }
        if let Some(steps) = file.integer("steps_per_print", 1)? {
            out.set("steps-per-print", steps as i64, file.path("steps_per_print"));
        }
        if let Some(on) = file.flag("wall_clock_breakdown")? {
            out.set("wall-clock-breakdown", on, file.path("wall_clock_breakdown"));
        }
        out.note_idle(&file, &IDLE);
        out.note_idle(&file, &UNSUPPORTED);
        Ok(out)
    }

    /// Sets an option; a later value replaces an earlier one. Returns the replaced setting.
    fn set(&mut self, option: &'static str, value: impl Into<Value>, key: String) -> Option<Setting> {
        let setting = Setting {
            option,
            value: value.into(),
            key,
        };
        match self.settings.iter_mut().find(|s| s.option == option) {
            Some(old) => Some(std::mem::replace(old, setting)),
            None => {
                self.settings.push(setting);
                None
            }
        }
    }

    /// Notes those of `keys` that `block` has: they change nothing.
    fn note_idle(&mut self, block: &Block, keys: &[&str]) {
        let idle: Vec<String> = keys
            .iter()
            .filter(|key| block.has(key))
            .map(|key| block.path(key))
            .collect();
        if !idle.is_empty() {
            self.notes
                .push(format!("without effect in canopy: {}", idle.join(", ")));
        }
    }
}

/// Returns `type`, one of `choices`, and `params` of the object at `key`, if there is one. It may also have the keys `more`.
fn typed<'a>(
    file: &Block<'a>,
    key: &'a str,
    choices: &[&'static str],
    more: &[&str],
) -> Result<Option<(&'static str, Block<'a>)>> {
    let Some(block) = file.block(key)? else {
        return Ok(None);
    };
    block.expect_keys(&format!("\"{key}\""), &[&["type", "params"], more])?;
    let kind = block.choice("type", choices)?;
    ensure!(
        kind.is_some(),
        "{} is missing, expected one of {}",
        block.path("type"),
        choices.join(", ")
    );
    let params = block.block("params")?.unwrap_or_else(|| block.empty("params"));
    Ok(kind.map(|kind| (kind, params)))
}
