//! `canopy profile`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use canopy_data::atomic;
use serde_json::json;

use crate::{
    profile::{Activity, KernelTable, Summary, Timeline, from_chrome},
    report::profiled,
};

/// Options of `canopy profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy train --profile                        record a run; the files are in runs/quick/profile
  canopy profile runs/quick                     print its summary again
  canopy profile trace.json --from 100 --to 250 --out part/
                                                a part of a trace, with pictures; also of PyTorch's traces
  canopy profile kernels.csv                    the kernel table of nsys or nvprof:
      nsys profile -o run canopy train --profile --nvtx
      nsys stats --report cuda_gpu_sum,cuda_gpu_mem_size_sum --format csv run.nsys-rep > kernels.csv")]
pub struct Args {
    /// Folder of a profiled run, a trace in Chrome's format, or a kernel table of nsys or nvprof
    file: PathBuf,
    /// Start of the part of a trace, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    from: f64,
    /// End of the part of a trace, milliseconds [default: the end of the trace]
    #[arg(long, value_name = "MS")]
    to: Option<f64>,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// Write pictures and files into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the summary of a recording or of a profiler's table.
///
/// # Errors
/// Returns an error with what is wrong if the file is neither.
pub fn run(args: &Args) -> Result<ExitCode> {
    let path = if args.file.is_dir() {
        in_run(&args.file)?
    } else {
        args.file.clone()
    };
    let bytes = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let named = || path.display().to_string();
    if text.trim_start().starts_with(['{', '[']) && !text.trim_start().starts_with("[CUDA") {
        let timeline = from_chrome(&text).with_context(named)?;
        show_trace(args, &path, &timeline)?;
    } else {
        show_table(args, &KernelTable::parse(&text).with_context(named)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The trace of `--profile` in a run's folder.
fn in_run(folder: &Path) -> Result<PathBuf> {
    let names = ["profile/trace.json", "trace.json"];
    let Some(path) = names.iter().map(|n| folder.join(n)).find(|p| p.is_file()) else {
        bail!(
            "{} contains no profile: record one with `canopy train --profile`",
            folder.display()
        );
    };
    Ok(path)
}

fn show_trace(args: &Args, path: &Path, whole: &Timeline) -> Result<()> {
    let ns = |ms: f64| (ms.max(0.0) * 1e6) as u64;
    let timeline = whole.window(ns(args.from), args.to.map_or(whole.wall, ns).min(whole.wall));
    if timeline.spans.is_empty() {
        bail!(
            "there is no span between --from and --to: the trace ends at {:.3} ms",
            whole.wall as f64 / 1e6
        );
    }
    let summary = Summary::of(&timeline);
    if args.json {
        say!("{:#}", summary.json());
    } else {
        say!("{}", summary.text(args.rows).trim_end());
    }
    if let Some(out) = &args.out {
        let name = path.display().to_string();
        profiled::write(out, &timeline, &name)?;
        eprintln!("written: {}", out.display());
    }
    Ok(())
}

fn show_table(args: &Args, table: &KernelTable) -> Result<()> {
    let all: f64 = table.rows.iter().map(|r| r.ns).sum();
    let mut rows: Vec<_> = table.rows.iter().collect();
    rows.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    if args.json {
        let row = |r: &&crate::profile::KernelRow| {
            let activity = format!("{:?}", r.activity).to_lowercase();
            json!({ "name": r.name, "activity": activity, "calls": r.calls, "ns": r.ns })
        };
        let transfers = table.transfers.iter();
        let value = json!({
            "copy_share": table.copy_share(),
            "kernels_ns": table.time(Activity::Kernel),
            "rows": rows.iter().map(row).collect::<Vec<_>>(),
            "transfers": transfers.map(|t| json!({ "name": t.name, "count": t.count, "bytes": t.bytes })).collect::<Vec<_>>(),
        });
        say!("{value:#}");
    } else {
        if let Some(share) = table.copy_share() {
            say!(
                "{:.3} ms on the device: {:.1} % copies, {:.1} % kernels",
                all / 1e6,
                100.0 * share,
                100.0 * table.time(Activity::Kernel) / all
            );
        }
        for r in rows.iter().take(args.rows) {
            let name: String = r.name.chars().take(60).collect();
            say!(
                "{:>6.1} %  {:>12.3} ms  {:>8} ×  {name}",
                100.0 * r.ns / all.max(1.0),
                r.ns / 1e6,
                r.calls
            );
        }
        for t in &table.transfers {
            say!("{:>12.3} MB in {:>8} of {}", t.bytes / 1e6, t.count, t.name);
        }
    }
    if let Some(out) = &args.out {
        fs::create_dir_all(out).with_context(|| format!("the folder {} cannot be created", out.display()))?;
        let mut text = String::from("name,activity,calls,ns\n");
        for r in &rows {
            let name = r.name.replace('"', "\"\"");
            text += &format!("\"{name}\",{:?},{},{}\n", r.activity, r.calls, r.ns);
        }
        atomic::write(&out.join("kernels.csv"), text.as_bytes())?;
    }
    Ok(())
}
