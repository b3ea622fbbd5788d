//! Checkpoints: one safetensors file with weights, optimizer state, and all else a run goes on from.
//!
//! Tensors bear the model's own names; the optimizer's stand under `optimizer.`. The header's metadata
//! holds one entry, `canopy`: a JSON text of [`Progress`]. There is no random state to keep, because
//! every draw is a function of (seed, epoch or step, place).

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use candle_core::{Device, Tensor};
use canopy_data::atomic;
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::Config;
use crate::precision::LossScaler;

/// The layout's version; another one is refused.
const VERSION: u32 = 1;
const KEY: &str = "canopy";
const OPTIMIZER: &str = "optimizer.";

/// Where a run stands, beside its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The layout's version.
    pub version: u32,
    /// The run's configuration.
    pub config: Config,
    /// Species, in the order of their labels.
    pub species: Vec<String>,
    /// The data set's digest: a run goes on only with the same data.
    pub data_digest: String,
    /// Epochs done.
    pub epoch: usize,
    /// Batches done of the epoch under way.
    pub batch: usize,
    /// Optimizer steps done.
    pub step: u64,
    /// Sum of losses × clouds of the epoch under way, as the bits of an f64: JSON would round it.
    pub loss_bits: u64,
    /// Clouds named rightly in the epoch under way.
    pub correct: u64,
    /// Clouds seen in the epoch under way.
    pub seen: u64,
    /// Best balanced accuracy on the validation plots so far, as bits, and its epoch.
    pub best: Option<(u64, usize)>,
    /// Wall time spent so far, seconds.
    pub seconds: f64,
    /// How the loss is scaled; none where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaler: Option<LossScaler>,
    /// Steps left out because a gradient overflowed: in the epoch under way, and in all.
    #[serde(default)]
    pub left_out: (u64, u64),
}

impl Progress {
    /// The start of a run.
    pub fn start(config: Config, species: Vec<String>, data_digest: String) -> Self {
        Self {
            version: VERSION,
            config,
            species,
            data_digest,
            epoch: 0,
            batch: 0,
            step: 0,
            loss_bits: 0f64.to_bits(),
            correct: 0,
            seen: 0,
            best: None,
            seconds: 0.0,
            scaler: None,
            left_out: (0, 0),
        }
    }
}

/// What a checkpoint file holds.
#[derive(Debug)]
pub struct Checkpoint {
    /// Where the run stands.
    pub progress: Progress,
    /// The model's tensors by name.
    pub model: HashMap<String, Tensor>,
    /// The optimizer's tensors by name; empty in a file kept for its weights only.
    pub optimizer: HashMap<String, Tensor>,
}

/// Writes a checkpoint atomically.
///
/// # Errors
/// Names the file; the old checkpoint is unharmed then.
pub fn save(
    path: &Path,
    progress: &Progress,
    model: &[(String, Tensor)],
    optimizer: &[(String, Tensor)],
) -> Result<()> {
    let tensors = model
        .iter()
        .map(|(name, t)| (name.clone(), t))
        .chain(
            optimizer
                .iter()
                .map(|(name, t)| (format!("{OPTIMIZER}{name}"), t)),
        )
        .map(|(name, t)| Ok((name, t.to_device(&Device::Cpu)?.contiguous()?)))
        .collect::<Result<Vec<_>>>()?;
    let meta = HashMap::from([(KEY.to_owned(), serde_json::to_string(progress)?)]);
    let views = tensors.iter().map(|(name, t)| (name, t));
    let bytes = safetensors::serialize(views, Some(meta)).context("the checkpoint could not be laid out")?;
    atomic::write(path, &bytes)
}

/// Reads a checkpoint.
///
/// # Errors
/// Names the file and says whether it is missing, damaged, or another program's.
pub fn load(path: &Path) -> Result<Checkpoint> {
    let bytes = fs::read(path).with_context(|| format!("no checkpoint can be read at {}", path.display()))?;
    parse(&bytes).with_context(|| {
        format!(
            "{} is not a checkpoint that canopy can go on from",
            path.display()
        )
    })
}

fn parse(bytes: &[u8]) -> Result<Checkpoint> {
    let (_, header) = SafeTensors::read_metadata(bytes).context("the file is damaged or cut off")?;
    let Some(text) = header.metadata().as_ref().and_then(|m| m.get(KEY)) else {
        bail!(
            "its header has no entry '{KEY}': it was written by another program (weights alone are read by `canopy eval --weights`)"
        );
    };
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } = serde_json::from_str(text).context("its entry 'canopy' has no version")?;
    ensure!(
        version == VERSION,
        "it has layout version {version}, and this program reads version {VERSION}"
    );
    let progress =
        serde_json::from_str(text).context("its entry 'canopy' does not say where the run stands")?;
    let all = candle_core::safetensors::load_buffer(bytes, &Device::Cpu).context("a tensor is damaged")?;
    let (mut model, mut optimizer) = (HashMap::new(), HashMap::new());
    for (name, tensor) in all {
        match name.strip_prefix(OPTIMIZER) {
            Some(name) => optimizer.insert(name.to_owned(), tensor),
            None => model.insert(name, tensor),
        };
    }
    Ok(Checkpoint {
        progress,
        model,
        optimizer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Progress, Vec<(String, Tensor)>) {
        let config = Config::preset("quick").unwrap();
        let mut progress = Progress::start(config, vec!["beech".into()], "d".into());
        progress.loss_bits = 0.1f64.to_bits();
        let t = Tensor::from_slice(&[1f32, -0.0, f32::MIN_POSITIVE], 3, &Device::Cpu).unwrap();
        (progress, vec![("w".into(), t)])
    }

    #[test]
    fn what_is_saved_comes_back_bit_for_bit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("last.safetensors");
        let (progress, tensors) = sample();
        save(&path, &progress, &tensors, &tensors).unwrap();
        let back = load(&path).unwrap();
        assert_eq!(back.progress, progress);
        for map in [&back.model, &back.optimizer] {
            let bits: Vec<u32> = map["w"]
                .to_vec1::<f32>()
                .unwrap()
                .iter()
                .map(|v| v.to_bits())
                .collect();
            assert_eq!(
                bits,
                [1f32.to_bits(), (-0f32).to_bits(), f32::MIN_POSITIVE.to_bits()]
            );
        }
    }

    #[test]
    fn a_file_cut_off_anywhere_is_an_error_and_never_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("last.safetensors");
        let (progress, tensors) = sample();
        save(&path, &progress, &tensors, &tensors).unwrap();
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let e = format!("{:#}", load(&path).unwrap_err());
            assert!(e.contains("last.safetensors"), "{e}");
        }
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_leaves_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let (progress, tensors) = sample();
        let e = save(
            &dir.path().join("missing/last.safetensors"),
            &progress,
            &tensors,
            &[],
        )
        .unwrap_err();
        assert!(format!("{e:#}").contains("could not be written"), "{e:#}");
    }
}
