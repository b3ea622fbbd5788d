//! PyTorch's side of the benchmark, which runs the script `benches/peer_pytorch.py`.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::Options;
use crate::precision::Precision;

const SCRIPT: &str = include_str!("../../../benches/peer_pytorch.py");

/// PyTorch's measurements.
#[derive(Debug, Serialize, Deserialize)]
pub struct Peer {
    /// PyTorch's version.
    pub torch: String,
    /// Whether the network was compiled with `torch.compile`.
    pub compiled: bool,
    /// Seconds of the warm-up, compilation included; `None` if it exceeded the limit.
    pub warmup_s: Option<f64>,
    /// Milliseconds of each timed step.
    pub total_ms: Vec<f64>,
    pub forward_ms: Vec<f64>,
    pub backward_ms: Vec<f64>,
    pub optimizer_ms: Vec<f64>,
    /// Peak resident memory, MiB.
    pub peak_mib: f64,
}

/// Runs one round, and adds its measurements to `peers`.
pub fn round(
    python: &Path,
    train: bool,
    compiled: bool,
    options: &Options,
    peers: &mut Vec<Peer>,
) -> Result<()> {
    let mode = if train { "train" } else { "infer" };
    let mut arguments = ["--mode", mode, "--model", &options.model.to_string()]
        .map(String::from)
        .to_vec();
    for (name, value) in [
        ("--points", options.points),
        ("--batch", options.batch),
        ("--classes", options.classes),
        ("--repeats", options.repeats),
        ("--threads", rayon::current_num_threads()),
        ("--warmup-limit", options.compile_limit),
    ] {
        arguments.extend([name.to_owned(), value.to_string()]);
    }
    if options.precision == Precision::Bf16 {
        arguments.push("--bf16".into());
    }
    if compiled {
        arguments.push("--compile".into());
    }
    let turn = run_script(python, &arguments)?;
    match peers.iter_mut().find(|p| p.compiled == turn.compiled) {
        None => peers.push(turn),
        Some(peer) => {
            peer.warmup_s = peer.warmup_s.zip(turn.warmup_s).map(|(a, b)| a.max(b));
            peer.total_ms.extend(turn.total_ms);
            peer.forward_ms.extend(turn.forward_ms);
            peer.backward_ms.extend(turn.backward_ms);
            peer.optimizer_ms.extend(turn.optimizer_ms);
            peer.peak_mib = peer.peak_mib.max(turn.peak_mib);
        }
    }
    Ok(())
}

/// Runs the script, which prints a JSON object as its last line.
fn run_script(python: &Path, arguments: &[String]) -> Result<Peer> {
    let mut file = tempfile::Builder::new().suffix(".py").tempfile()?;
    file.write_all(SCRIPT.as_bytes())?;
    let output = Command::new(python)
        .arg(file.path())
        .args(arguments)
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
