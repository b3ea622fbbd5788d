//! The GPUs: what `nvidia-smi` says of them, whether CUDA computes on one, and what the error messages of both mean.

use std::process::{Command, Stdio};

use candle_core::{DType, Tensor};

use super::{Line, State};
use crate::device;

/// What `nvidia-smi` prints of each GPU, in this order.
const FIELDS: &str = "name,compute_cap,driver_version,memory.total,memory.used,utilization.gpu";

/// Parts of error messages of `nvidia-smi` and CUDA, and what they mean and what to do.
const MEANINGS: [(&[&str], &str); 7] = [
    (
        &["No devices were found", "CUDA_ERROR_NO_DEVICE"],
        "no GPU is visible: in a Slurm job ask for one (--gres=gpu:1), in a container start it with the NVIDIA runtime (`--gpus \
         all`, `--nv`), elsewhere unset CUDA_VISIBLE_DEVICES",
    ),
    (
        &["couldn't communicate with the NVIDIA driver"],
        "the kernel's module is not loaded: install NVIDIA's driver, or restart the machine after an update of its kernel",
    ),
    (
        &["version mismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"],
        "the driver's library and the kernel's module have different versions, as after an update of the driver: restart \
         the machine",
    ),
    (
        &["CUDA_ERROR_INVALID_DEVICE"],
        "CUDA_VISIBLE_DEVICES names a GPU that does not exist: unset it",
    ),
    (
        &["CUDA_ERROR_SYSTEM_NOT_READY"],
        "the service that joins the GPUs does not run: ask the administrator to start the fabric manager",
    ),
    (
        &["CUDA_ERROR_UNSUPPORTED_PTX_VERSION"],
        "the driver is older than the CUDA toolkit of this build: update the driver, or build with an older toolkit",
    ),
    (
        &["CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image"],
        "this program was built for a GPU of a higher compute capability: build on this machine, or set CUDA_COMPUTE_CAP (80 \
         for 8.0) when you build",
    ),
];

/// A line for each GPU, and one for CUDA.
pub fn lines() -> Vec<Line> {
    let mut smi = Command::new("nvidia-smi");
    smi.args([&format!("--query-gpu={FIELDS}"), "--format=csv,noheader"])
        .stdin(Stdio::null());
    let mut lines = match smi.output() {
        Err(_) => vec![Line::ok("GPU", "none: there is no nvidia-smi")],
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            of_smi(output.status.success(), &String::from_utf8_lossy(&text))
        }
    };
    let has_gpu = lines.iter().any(|line| line.name.starts_with("GPU "));
    lines.push(cuda(has_gpu));
    lines
}

/// The lines of what `nvidia-smi` printed.
fn of_smi(succeeded: bool, text: &str) -> Vec<Line> {
    let mut said = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if !succeeded {
        let why = said.next().unwrap_or("no message");
        return vec![failed("GPU", format!("nvidia-smi fails: {why}"))];
    }
    let line = |(number, fields): (usize, &str)| {
        let found = match *fields.split(", ").collect::<Vec<_>>() {
            [gpu, capability, driver, memory, used, busy] => format!(
                "{gpu}, compute capability {capability}, {memory}, of which {used} are in use, {busy} busy, driver {driver}"
            ),
            _ => fields.to_owned(),
        };
        Line::ok(&format!("GPU {number}"), found)
    };
    said.enumerate().map(line).collect()
}

/// Whether CUDA computes. `has_gpu`: `nvidia-smi` lists a GPU.
fn cuda(has_gpu: bool) -> Line {
    if !cfg!(feature = "cuda") {
        let line = Line::ok("CUDA", "this program is built for the CPU alone");
        return match has_gpu {
            true => line.but(
                State::Warning,
                "build with `cargo build --release --features cuda`",
            ),
            false => line,
        };
    }
    // A program that holds no code for this GPU opens it all the same. The first kernel fails.
    let computed = device::open(0).and_then(|device| {
        let sum = Tensor::ones(1000, DType::F32, &device).and_then(|ones| ones.sum_all());
        sum.and_then(|sum| sum.to_scalar::<f32>())
            .map_err(|e| e.to_string())
    });
    match computed {
        Ok(_) => Line::ok("CUDA", "cuda:0 computes"),
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            let visible = std::env::var("CUDA_VISIBLE_DEVICES");
            let visible = visible.map_or(String::new(), |v| format!(" (CUDA_VISIBLE_DEVICES is '{v}')"));
            failed("CUDA", format!("cuda:0 does not compute: {why}{visible}"))
        }
    }
}

/// What is wrong, with its meaning. For a program without CUDA it is a warning.
fn failed(name: &str, found: String) -> Line {
    let means = |(parts, _): &&(&[&str], _)| parts.iter().any(|part| found.contains(part));
    let advice = MEANINGS.iter().find(means).map(|m| m.1);
    let advice = advice.unwrap_or("see the output of `nvidia-smi` and the kernel's log (dmesg)");
    let state = match cfg!(feature = "cuda") {
        true => State::Wrong,
        false => State::Warning,
    };
    Line::ok(name, found).but(state, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_explained() {
        for (found, advice) in [
            ("NVML: Driver/library version mismatch", "restart the machine"),
            ("DriverError(CUDA_ERROR_NO_DEVICE, \"no device\")", "--gres=gpu:1"),
            ("no kernel image is available for execution", "CUDA_COMPUTE_CAP"),
            ("something else", "dmesg"),
        ] {
            let line = failed("CUDA", found.into());
            assert!(line.advice.as_ref().unwrap().contains(advice), "{line:?}");
        }
    }
}
