//! `canopy profile`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::table::show;
use crate::profile::{Activity, kernel_rows, time_share};

/// Options of `canopy profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy train --profile        record a run; the files are in runs/quick/profile
  canopy profile runs/quick     print its summary again
  canopy profile kernels.csv    the kernel table of nsys or nvprof:
      nsys profile -o run canopy train
      nsys stats --report cuda_gpu_sum --format csv run.nsys-rep > kernels.csv

trace.json opens in https://ui.perfetto.dev or https://www.speedscope.app")]
pub struct Args {
    /// Folder of a profiled run, or a kernel table of nsys or nvprof
    file: PathBuf,
    /// Rows of a kernel table
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the summary of a recording or of a profiler's table.
pub fn run(args: &Args) -> Result<ExitCode> {
    if args.file.is_dir() {
        let summary = args
            .file
            .join("profile")
            .join(if args.json { "summary.json" } else { "summary.txt" });
        let Ok(text) = fs::read_to_string(&summary) else {
            bail!(
                "{} contains no profile: record one with `canopy train --profile`",
                args.file.display()
            );
        };
        say!("{}", text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let named = || args.file.display().to_string();
    let bytes = fs::read(&args.file).with_context(|| format!("{} cannot be read", args.file.display()))?;
    let mut rows = kernel_rows(&String::from_utf8_lossy(&bytes)).with_context(named)?;
    let [copies, kernels] = [Activity::Copy, Activity::Kernel].map(|of| time_share(&rows, of));
    if !args.json {
        rows.truncate(args.rows);
        rows.iter_mut()
            .for_each(|row| row.name = format!("{:.60}", row.name));
    }
    show(
        &json!({ "copy_share": copies, "kernel_share": kernels, "rows": rows }),
        args.json,
    )?;
    Ok(ExitCode::SUCCESS)
}
