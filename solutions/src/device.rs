//! Chooses a device by name, and says why where the choice is not the one asked for.

use anyhow::{Result, bail};
use candle_core::Device;

/// A device, and the reason it was chosen.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The device.
    pub device: Device,
    /// Its name for people: `cpu, 2 threads`, `cuda:0`.
    pub name: String,
    /// Why this one, where `auto` had to settle for it.
    pub reason: Option<String>,
}

/// The device named `auto`, `cpu`, `cuda` or `cuda:N`.
///
/// `auto` takes the first CUDA device and falls back to the CPU, saying why. A device asked for by name
/// never falls back.
///
/// # Errors
/// An unknown name, or the CUDA device's own error with what to do.
pub fn choose(name: &str) -> Result<Chosen> {
    match name {
        "cpu" => Ok(cpu(None)),
        "auto" if !cfg!(feature = "cuda") => Ok(cpu(Some(
            "this program was built without `--features cuda`".into(),
        ))),
        "auto" => cuda(0).or_else(|e| Ok(cpu(Some(format!("no CUDA device answered: {e:#}"))))),
        "cuda" => cuda(0),
        other => match other.strip_prefix("cuda:").map(str::parse) {
            Some(Ok(ordinal)) => cuda(ordinal),
            _ => bail!("no device is called '{other}': take auto, cpu, cuda or cuda:N"),
        },
    }
}

fn cpu(reason: Option<String>) -> Chosen {
    let threads = rayon::current_num_threads();
    let s = if threads == 1 { "" } else { "s" };
    Chosen {
        device: Device::Cpu,
        name: format!("cpu, {threads} thread{s}"),
        reason,
    }
}

fn cuda(ordinal: usize) -> Result<Chosen> {
    if !cfg!(feature = "cuda") {
        bail!(
            "cuda:{ordinal} was asked for, but this program was built without it: build with `--features cuda`"
        );
    }
    // A stream of its own: the per-thread default stream that `new_cuda` takes orders nothing between threads.
    match Device::new_cuda_with_stream(ordinal) {
        Ok(device) => Ok(Chosen {
            device,
            name: format!("cuda:{ordinal}"),
            reason: None,
        }),
        Err(e) => {
            // Where backtraces are asked for, candle's words go on with one.
            let words = e.to_string();
            let cause = words.lines().next().unwrap_or_default();
            bail!("cuda:{ordinal} cannot be used: {cause}. `nvidia-smi` tells which devices the driver sees")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_always_there() {
        assert!(choose("cpu").unwrap().device.is_cpu());
    }

    #[test]
    fn auto_without_cuda_says_why() {
        if !cfg!(feature = "cuda") {
            let reason = choose("auto").unwrap().reason.unwrap();
            assert!(reason.contains("--features cuda"), "{reason}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        for name in ["gpu", "cuda:x", "", "cuda:-1"] {
            let e = choose(name).unwrap_err().to_string();
            assert!(e.contains("auto, cpu, cuda or cuda:N"), "{e}");
        }
    }
}
