//! Checkpoints: one safetensors file with weights, optimizer state, and everything else that a run resumes from.
//!
//! The model's tensors keep their names; those of the optimizer start with `optimizer.`. The header's metadata has one entry,
//! `canopy`: [`Progress`] as JSON, behind a checksum. There is no random state to save, because every random draw is a
//! function of the seed, the epoch or step, and an index.
//!
//! The checksum is a CRC-32C of the entry and of all tensors (TensorFlow's checkpoints use the same one). It finds every
//! flipped bit; it is no protection against somebody who wants to deceive.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use candle_core::{Device, Tensor};
use canopy_data::{Dataset, atomic};
use crc32c::crc32c_append;
use safetensors::{SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::{Config, RunFolder};
use crate::{precision::LossScaler, target::Head};

/// The layout version that is written and read.
pub(super) const VERSION: u32 = 2;
const KEY: &str = "canopy";
const OPTIMIZER: &str = "optimizer.";
/// The entry `canopy` starts with this and the checksum's eight hexadecimal digits; the rest of the JSON follows.
const CHECKSUM: &str = "{\"crc32c\":\"";

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The layout version of the checkpoint.
    pub version: u32,
    /// The run's configuration.
    pub config: Config,
    /// Species, in the order of their labels.
    pub species: Vec<String>,
    /// The data set's digest: a run is resumed only with the same data.
    pub data_digest: String,
    /// Epochs completed.
    pub epoch: usize,
    /// Batches completed of the current epoch.
    pub batch: usize,
    /// Optimizer steps taken.
    pub step: u64,
    /// Sum of loss × clouds of the current epoch, as the bits of an f64, because JSON would round it.
    pub loss_bits: u64,
    /// Clouds classified correctly in the current epoch.
    pub correct: u64,
    /// Clouds seen in the current epoch.
    pub seen: u64,
    /// The best score on the validation set so far, as bits, and its epoch: balanced accuracy, or for a number the negative
    /// continuous ranked probability score.
    pub best: Option<(u64, usize)>,
    /// Wall time so far, seconds.
    pub seconds: f64,
    /// The head of a network that predicts a number; `None` if it predicts the species.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,
    /// The combinations of categories that the training clouds have; empty without categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<u32>,
    /// State of the loss scaling; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaler: Option<LossScaler>,
    /// Steps skipped because a gradient overflowed: in the current epoch, and in total.
    #[serde(default)]
    pub left_out: (u64, u64),
}

impl Progress {
    /// Warns of `records` of the data set whose combination of categories, of `ids`, no training record has.
    pub fn category_warning(&self, data: &Dataset, ids: &[u32], records: &[usize]) -> Option<String> {
        let mut unseen = records.iter().filter(|&&r| !self.categories.contains(&ids[r]));
        let example = &data.records[*unseen.next()?];
        Some(format!(
            "{} of {} scans have a combination of {:?} that no training scan has, such as {} ({}): the embedding of \
             these is untrained, so expect worse predictions",
            1 + unseen.count(),
            records.len(),
            self.config.categories,
            example.tree,
            example.source
        ))
    }
}

/// The contents of a checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    /// How far the run has come.
    pub progress: Progress,
    /// The model's tensors by name.
    pub model: HashMap<String, Tensor>,
    /// The optimizer's tensors by name; empty if only the weights were saved.
    pub optimizer: HashMap<String, Tensor>,
}

/// Writes a checkpoint atomically, and returns its bytes.
///
/// # Errors
/// Names the file; an older checkpoint of this name is unchanged then.
pub fn save(
    path: &Path,
    progress: &Progress,
    model: &[(String, Tensor)],
    optimizer: &[(String, Tensor)],
) -> Result<Vec<u8>> {
    let optimizer = optimizer
        .iter()
        .map(|(name, t)| (format!("{OPTIMIZER}{name}"), t));
    let tensors = model.iter().map(|(name, t)| (name.clone(), t)).chain(optimizer);
    let mut tensors = tensors
        .map(|(name, t)| Ok((name, t.to_device(&Device::Cpu)?.contiguous()?)))
        .collect::<Result<Vec<_>>>()?;
    let text = serde_json::to_string(progress)?;
    let text = format!("{CHECKSUM}{}\",{}", checksum(&text, &mut tensors), &text[1..]);
    let bytes = safetensors::serialize(tensors, Some(HashMap::from([(KEY.to_owned(), text)])))
        .context("the checkpoint could not be serialised")?;
    atomic::write(path, &bytes)?;
    Ok(bytes)
}

/// Reads and verifies a checkpoint. If a run's `config.toml` is in the same folder, the checkpoint must be of that run.
///
/// # Errors
/// Names the file, and says whether it is missing, damaged, of another run or of another program.
pub fn load(path: &Path) -> Result<Checkpoint> {
    let (progress, model, optimizer) = read(path)?;
    let progress = progress.with_context(|| {
        format!(
            "{} is not a checkpoint of canopy: its header has no entry '{KEY}', so another program wrote it. `canopy eval \
             --weights` reads such weights",
            path.display()
        )
    })?;
    let config = path.with_file_name(RunFolder::CONFIG);
    if let Ok(text) = fs::read_to_string(&config) {
        let folder: Config = toml::from_str(&text).with_context(|| config.display().to_string())?;
        if let Some(difference) = progress.config.difference(&folder)? {
            bail!(
                "{} belongs to another run than {} beside it ({difference}): restore this run's own file, or move the \
                 checkpoint to another folder",
                path.display(),
                RunFolder::CONFIG
            );
        }
    }
    Ok(Checkpoint {
        progress,
        model,
        optimizer,
    })
}

/// The model's tensors of a safetensors file: a checkpoint, which is verified, or weights that another program wrote.
/// `species` are those of the run, in the order of their labels.
///
/// # Errors
/// Names the file, and says whether it is missing, damaged, or a checkpoint for other species.
pub fn weights(path: &Path, species: &[String]) -> Result<Tensors> {
    let (progress, model, _) = read(path)?;
    if let Some(progress) = progress {
        ensure!(
            progress.species == species,
            "{} is a checkpoint for the species {}, and the run's are {}",
            path.display(),
            progress.species.join(", "),
            species.join(", ")
        );
    }
    Ok(model)
}

type Tensors = HashMap<String, Tensor>;

/// The tensors of a safetensors file, of the model and of the optimizer, and the progress if it is a checkpoint.
fn read(path: &Path) -> Result<(Option<Progress>, Tensors, Tensors)> {
    let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let parse = || -> Result<_> {
        let (_, header) = SafeTensors::read_metadata(&bytes).context("the file is damaged or truncated")?;
        let entry = header.metadata().as_ref().and_then(|m| m.get(KEY));
        let progress = entry.map(|text| verified(text, &bytes)).transpose()?;
        let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu);
        Ok((progress, tensors.context("a tensor is damaged")?))
    };
    let (progress, tensors) =
        parse().with_context(|| format!("{} is not a usable checkpoint", path.display()))?;
    let (mut model, mut optimizer) = (HashMap::new(), HashMap::new());
    for (name, tensor) in tensors {
        match name.strip_prefix(OPTIMIZER) {
            Some(name) => optimizer.insert(name.to_owned(), tensor),
            None => model.insert(name, tensor),
        };
    }
    Ok((progress, model, optimizer))
}

/// The progress of a checkpoint with the entry `text`, whose checksum is compared.
fn verified(text: &str, bytes: &[u8]) -> Result<Progress> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } = serde_json::from_str(text).context("its entry 'canopy' has no version")?;
    ensure!(
        version == VERSION,
        "it has layout version {version}, and this program reads version {VERSION}"
    );
    let rest = text
        .strip_prefix(CHECKSUM)
        .and_then(|rest| rest.split_once("\","));
    let (expected, rest) = rest.context("its entry 'canopy' has no checksum: the file is damaged")?;
    let mut tensors = SafeTensors::deserialize(bytes)?.tensors();
    let actual = checksum(&format!("{{{rest}"), &mut tensors);
    ensure!(
        actual == expected,
        "its contents have the checksum {actual}, and {expected} was saved: the file is damaged. Use another copy, or \
         another checkpoint of the run"
    );
    serde_json::from_str(text).context("its entry 'canopy' cannot be read")
}

/// CRC-32C of `text` and of each tensor's name, dtype, shape and bytes, in the order of their names, as hexadecimal digits.
fn checksum(text: &str, tensors: &mut [(String, impl View)]) -> String {
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let of_tensor = |crc, (name, tensor): &(String, _)| {
        let description = format!("\n{name} {:?} {:?}\n", View::dtype(tensor), View::shape(tensor));
        crc32c_append(crc32c_append(crc, description.as_bytes()), &View::data(tensor))
    };
    let crc = tensors.iter().fold(crc32c::crc32c(text.as_bytes()), of_tensor);
    format!("{crc:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Progress, Vec<(String, Tensor)>) {
        let progress = Progress {
            version: VERSION,
            species: vec!["beech".into()],
            loss_bits: 0.1f64.to_bits(),
            ..Progress::default()
        };
        let t = Tensor::from_slice(&[1f32, -0.0, f32::MIN_POSITIVE], 3, &Device::Cpu).unwrap();
        (progress, vec![("w".into(), t)])
    }

    #[test]
    fn a_saved_checkpoint_is_loaded_bit_identical() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("last.safetensors");
        let (progress, tensors) = sample();
        save(&path, &progress, &tensors, &tensors).unwrap();
        let back = load(&path).unwrap();
        assert_eq!(back.progress, progress);
        for map in [&back.model, &back.optimizer] {
            let bits = map["w"].to_vec1().unwrap().into_iter().map(f32::to_bits);
            assert!(bits.eq([1f32, -0.0, f32::MIN_POSITIVE].map(f32::to_bits)));
        }
        assert_eq!(weights(&path, &progress.species).unwrap().len(), 1);
        let e = weights(&path, &["oak".into()]).unwrap_err().to_string();
        assert!(e.contains("beech") && e.contains("oak"), "{e}");
    }

    #[test]
    fn a_flipped_bit_in_any_byte_and_any_truncation_is_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("last.safetensors");
        let (progress, tensors) = sample();
        save(&path, &progress, &tensors, &tensors).unwrap();
        let whole = fs::read(&path).unwrap();
        let refused = |bytes: &[u8], what: &str| {
            fs::write(&path, bytes).unwrap();
            let e = format!("{:#}", load(&path).expect_err(what));
            assert!(e.contains("last.safetensors"), "{what}: {e}");
        };
        for end in 0..whole.len() {
            refused(&whole[..end], &format!("truncated at byte {end}"));
        }
        for (i, byte) in whole.iter().enumerate() {
            let mut damaged = whole.clone();
            damaged[i] = byte ^ (1 << (i % 8));
            refused(&damaged, &format!("a bit of byte {i} flipped"));
        }
    }

    #[test]
    fn a_checkpoint_without_a_checksum_or_of_another_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("last.safetensors");
        let (mut progress, tensors) = sample();
        let reasons = ["layout version 1", "no checksum", "layout version 3"];
        for (version, reason) in (1..).zip(reasons) {
            progress.version = version;
            let meta = HashMap::from([(KEY.to_owned(), serde_json::to_string(&progress).unwrap())]);
            let bytes = safetensors::serialize(tensors.clone(), Some(meta)).unwrap();
            fs::write(&path, bytes).unwrap();
            let e = format!("{:#}", load(&path).unwrap_err());
            assert!(e.contains(reason), "{e}");
        }
    }
}
