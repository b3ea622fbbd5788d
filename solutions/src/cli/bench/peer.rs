//! PyTorch's side of the benchmark, which runs the script `benches/peer_pytorch.py`.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Options, median};
use crate::precision::Precision;

const SCRIPT: &str = include_str!("../../../benches/peer_pytorch.py");

/// Time limit of PyTorch's warm-up, including compilation, in seconds.
const WARMUP_LIMIT: usize = 300;

/// PyTorch's measurements.
#[derive(Debug, Serialize, Deserialize)]
pub struct Peer {
    /// PyTorch's version.
    pub torch: String,
    /// Whether the network was compiled with `torch.compile`.
    pub compiled: bool,
    /// Seconds of the warm-up, compilation included; `None` if it exceeded the limit.
    pub warmup_s: Option<f64>,
    /// The median step, and how many of canopy's it lasts.
    #[serde(default)]
    pub ms: f64,
    #[serde(default)]
    pub times_canopy: f64,
    /// Milliseconds of each timed step.
    pub total_ms: Vec<f64>,
    /// Peak resident memory, MiB.
    pub peak_mib: f64,
}

impl Peer {
    /// With its median step, in ms and in those of canopy.
    pub fn beside(mut self, ours: f64) -> Self {
        let median = median(&self.total_ms);
        (self.ms, self.times_canopy) = (median, median / ours);
        self
    }
}

/// Runs one round, and adds its measurements to `peers`.
pub fn round(
    python: &Path,
    train: bool,
    compiled: bool,
    options: &Options,
    peers: &mut Vec<Peer>,
) -> Result<()> {
    let Options {
        model,
        points,
        batch,
        classes,
        repeats,
        ..
    } = options;
    let mut words = format!(
        "--mode {} --model {model} --points {points} --batch {batch} --classes {classes} --repeats {repeats} --threads {} \
         --warmup-limit {WARMUP_LIMIT}",
        if train { "train" } else { "infer" },
        rayon::current_num_threads()
    );
    if options.precision == Precision::Bf16 {
        words += " --bf16";
    }
    if compiled {
        words += " --compile";
    }
    let turn = run_script(python, &words)?;
    match peers.iter_mut().find(|p| p.compiled == turn.compiled) {
        None => peers.push(turn),
        Some(peer) => {
            peer.warmup_s = peer.warmup_s.zip(turn.warmup_s).map(|(a, b)| a.max(b));
            peer.total_ms.extend(turn.total_ms);
            peer.peak_mib = peer.peak_mib.max(turn.peak_mib);
        }
    }
    Ok(())
}

/// Runs the script, which prints a JSON object as its last line.
fn run_script(python: &Path, words: &str) -> Result<Peer> {
    let mut file = tempfile::Builder::new().suffix(".py").tempfile()?;
    file.write_all(SCRIPT.as_bytes())?;
    let output = Command::new(python)
        .arg(file.path())
        .args(words.split(' '))
        .output()
        .with_context(|| format!("starting {}", python.display()))?;
    ensure!(
        output.status.success(),
        "the script for torch failed ({}); check that {} has torch installed:\n{}",
        output.status,
        python.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .with_context(|| format!("the script for torch printed '{last}', expected one JSON object"))
}
