//! `canopy doctor`: what `nvidia-smi`, CUDA and Slurm say of this machine, and what to do about it.

use std::process::{Command, ExitCode, Stdio};

use anyhow::Result;
use candle_core::{DType, Tensor};
use serde::Serialize;
use serde_json::json;

use crate::{
    device,
    kernels::{Filter, InstructionSet},
    train::machine,
};

/// Options of `canopy doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is ok, a warning (it works, but something is lost) or wrong, with what to do.

Examples:
  canopy doctor                       examine this machine
  canopy doctor --json                the same for a script
  srun --gres=gpu:1 canopy doctor     examine what a job gets

Exit codes: 0 if nothing is wrong (warnings do not count), 1 if something is.")]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Wrong,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    state: State,
    /// What was found.
    found: String,
    /// What to do, if it is not ok.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

/// A line, which is ok unless there is something to do about it.
fn line(name: &str, found: impl Into<String>, trouble: Option<(State, &'static str)>) -> Line {
    Line {
        name: name.into(),
        state: trouble.map_or(State::Ok, |(state, _)| state),
        found: found.into(),
        advice: trouble.map(|(_, advice)| advice),
    }
}

/// Examines the machine and prints a line for each thing.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut lines = gpus();
    let has_gpu = lines.iter().any(|line| line.name.starts_with("GPU "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    lines.extend([cuda(has_gpu), cpu(cores), slurm(cores)]);
    let count = |state| lines.iter().filter(|l| l.state == state).count();
    let (wrong, warnings) = (count(State::Wrong), count(State::Warning));
    if args.json {
        say!(
            "{:#}",
            json!({ "wrong": wrong, "warnings": warnings, "lines": lines })
        );
    } else {
        for line in &lines {
            let state = match line.state {
                State::Ok => "ok",
                State::Warning => "warning",
                State::Wrong => "WRONG",
            };
            say!("{state:<7} {:<6} {}", line.name, line.found);
            if let Some(advice) = line.advice {
                say!("               → {advice}");
            }
        }
        say!("\nWrong: {wrong}. Warnings: {warnings}.");
    }
    Ok(ExitCode::from(u8::from(wrong > 0)))
}

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

/// What is wrong, with its meaning. For a program without CUDA it is a warning.
fn failed(name: &str, found: String) -> Line {
    let means = |(parts, _): &&(&[&str], _)| parts.iter().any(|part| found.contains(part));
    let advice = MEANINGS.iter().find(means).map(|m| m.1);
    let advice = advice.unwrap_or("see the output of `nvidia-smi` and the kernel's log (dmesg)");
    let state = match cfg!(feature = "cuda") {
        true => State::Wrong,
        false => State::Warning,
    };
    line(name, found, Some((state, advice)))
}

/// A line for each GPU that `nvidia-smi` lists.
fn gpus() -> Vec<Line> {
    let mut smi = Command::new("nvidia-smi");
    smi.args([&format!("--query-gpu={FIELDS}"), "--format=csv,noheader"])
        .stdin(Stdio::null());
    let Ok(output) = smi.output() else {
        return vec![line("GPU", "none: there is no nvidia-smi", None)];
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let mut said = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if !output.status.success() {
        let why = said.next().unwrap_or("no message");
        return vec![failed("GPU", format!("nvidia-smi fails: {why}"))];
    }
    let of_gpu = |(number, fields): (usize, &str)| {
        let found = match *fields.split(", ").collect::<Vec<_>>() {
            [gpu, capability, driver, memory, used, busy] => format!(
                "{gpu}, compute capability {capability}, {memory}, of which {used} are in use, {busy} busy, driver {driver}"
            ),
            _ => fields.to_owned(),
        };
        line(&format!("GPU {number}"), found, None)
    };
    said.enumerate().map(of_gpu).collect()
}

/// Whether CUDA computes. `has_gpu`: `nvidia-smi` lists a GPU.
fn cuda(has_gpu: bool) -> Line {
    if !cfg!(feature = "cuda") {
        let rebuild = (
            State::Warning,
            "build with `cargo build --release --features cuda`",
        );
        return line(
            "CUDA",
            "this program is built for the CPU alone",
            has_gpu.then_some(rebuild),
        );
    }
    // A program that holds no code for this GPU opens it all the same. The first kernel fails.
    let computed = device::open(0).and_then(|device| {
        let sum = Tensor::ones(1000, DType::F32, &device).and_then(|ones| ones.sum_all());
        sum.and_then(|sum| sum.to_scalar::<f32>())
            .map_err(|e| e.to_string())
    });
    match computed {
        Ok(_) => line("CUDA", "cuda:0 computes", None),
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            let visible = std::env::var("CUDA_VISIBLE_DEVICES");
            let visible = visible.map_or(String::new(), |v| format!(" (CUDA_VISIBLE_DEVICES is '{v}')"));
            failed("CUDA", format!("cuda:0 does not compute: {why}{visible}"))
        }
    }
}

/// The cores, and the units of the CPU that canopy's operators use.
fn cpu(cores: usize) -> Line {
    let threads = rayon::current_num_threads();
    let set = match InstructionSet::current() {
        InstructionSet::Base => "no vector units beyond the base set",
        InstructionSet::Avx2 => "AVX2",
        InstructionSet::Avx512 => "AVX-512",
    };
    let (processor, filter) = (machine::processor(), Filter::current());
    let found = format!(
        "{processor} for this process, {threads} threads; the operators use {set}; filter of products: {filter}"
    );
    let advice = "more threads than cores slow each other: use --threads or RAYON_NUM_THREADS";
    line(
        "CPU",
        found,
        (threads > cores).then_some((State::Warning, advice)),
    )
}

/// The Slurm job of this process, which may use `cores` cores, and whether that is its share of the job.
fn slurm(cores: usize) -> Line {
    let variable = |name| std::env::var(name).ok();
    let Some(job) = variable("SLURM_JOB_ID") else {
        return line("Slurm", "not inside a job", None);
    };
    let mut found = format!("job {job}; this process may use {cores} cores");
    for (name, words) in [
        ("SLURM_JOB_PARTITION", "partition"),
        ("SLURM_NTASKS", "tasks:"),
        ("SLURM_CPUS_PER_TASK", "cores for each task:"),
        ("SLURM_JOB_GPUS", "GPUs:"),
        ("SLURM_MEM_PER_NODE", "MiB on each node:"),
    ] {
        if let Some(value) = variable(name) {
            found += &format!(", {words} {value}");
        }
    }
    let trouble = match variable("SLURM_CPUS_PER_TASK").and_then(|n| n.parse::<usize>().ok()) {
        Some(asked) if cores < asked => Some((
            State::Wrong,
            "pass --cpus-per-task to srun as well: srun does not take it from sbatch",
        )),
        // Slurm gives a task one core unless more are asked for; then a loader and a step share it.
        None if cores == 1 => Some((State::Warning, "ask for more with --cpus-per-task")),
        _ => None,
    };
    line("Slurm", found, trouble)
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
            assert!(line.advice.unwrap().contains(advice), "{line:?}");
        }
    }
}
