//! Real steps: their peak memory, and the largest batch that runs.

use std::{env, process::Command, sync::Arc};

use anyhow::{Context, Result, anyhow, ensure};
use candle_core::Device;

use super::{Args, config, model};
use crate::{
    cli::bench::synthetic,
    device,
    kernels::Lowering,
    precision::Precision,
    train::{Failure, Loss, executable_batch, memory, short::Learner},
};

/// The peak of two steps: the second reuses memory that the first freed, and both have the optimizer's state.
pub fn real_steps(args: &Args) -> Result<u64> {
    let device = device::choose(&args.device)?.device;
    let uncounted = "this build does not count its allocations";
    let (before, peak) = if device.is_cpu() {
        let before = memory::held().context(uncounted)?;
        let (done, peak) = memory::measured(|| two_steps(args, args.batch, &device));
        done?;
        (before, peak.unwrap_or(0))
    } else {
        let before = memory::in_use(&device).context(uncounted)?.now;
        two_steps(args, args.batch, &device)?;
        (before, memory::in_use(&device).context(uncounted)?.peak)
    };
    Ok(peak.saturating_sub(before))
}

/// How real steps compute in `args.format`.
fn lowering(args: &Args, device: &Device) -> Result<Option<Arc<dyn Lowering>>> {
    let format = args.format;
    ensure!(
        format == Precision::Fp32 || !args.plain,
        "--measure and --search run candle's operators in fp32 only: leave out --plain or --format {format}"
    );
    ensure!(
        format == Precision::Fp32 || !device.is_cpu(),
        "a CPU emulates {format} in tensors of fp32, so --measure and --search need a GPU for it: use --device cuda"
    );
    Ok(format.lowering(device))
}

/// Takes two training steps with `batch` clouds.
pub fn two_steps(args: &Args, batch: usize, device: &Device) -> Result<()> {
    let lowering = lowering(args, device)?;
    let model = model(args, device)?;
    let optimizer = config(args).optim()?.build(model.params())?;
    let (points, labels) = synthetic(batch, args.points, args.classes, device)?;
    let mut learner = Learner {
        clip: 1.0,
        plain: args.plain,
        lowering,
        ..Learner::new(model, optimizer, Loss::USUAL)
    };
    for _ in 0..2 {
        learner.step((&points, &labels), 1e-3)?;
    }
    Ok(())
}

/// The batch of an attempt of [`search`] is in this variable of its environment.
const ATTEMPT: &str = "CANOPY_PLAN_ATTEMPT";

/// The batch of this process if it is an attempt of a search.
pub fn attempted() -> Option<usize> {
    env::var(ATTEMPT).ok()?.parse().ok()
}

/// Each attempt is a process of its own with the same arguments, because a process that runs out of CPU memory is killed.
pub fn search(start: usize) -> Result<usize> {
    let program = env::current_exe().context("the path of the program is unknown")?;
    let found = executable_batch(start, 2, &mut |batch| {
        let mut attempt = Command::new(&program);
        let attempt = attempt
            .args(env::args_os().skip(1))
            .env(ATTEMPT, batch.to_string());
        let output = attempt.output();
        let output = output.map_err(|e| Failure::Other(format!("an attempt could not be started: {e}")))?;
        let result = match output.status.success() {
            true => Ok(()),
            false => Err(Failure::of(&String::from_utf8_lossy(&output.stderr))),
        };
        let said = result
            .as_ref()
            .map_or_else(ToString::to_string, |()| "fits".into());
        note!("batch {batch}: {said}");
        result
    });
    found.map_err(|why| anyhow!("no batch from {start} down to 2 clouds runs on this machine: {why}"))
}
