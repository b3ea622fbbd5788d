//! The tables of kernels and copies that nsys and nvprof write.

mod read;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

pub use read::copy_share;

/// An activity of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// A kernel.
    Kernel,
    /// A copy between host and device, or within the device.
    Copy,
    /// Setting memory to one value.
    Set,
}

impl Activity {
    /// By the name that both tools give: `[CUDA memcpy HtoD]`, `[CUDA memcpy Host-to-Device]`, `[CUDA memset]`.
    fn of(name: &str) -> Self {
        let name = name.trim_start_matches('[');
        if name.starts_with("CUDA memcpy") || name.starts_with("CUDA Unified Memory memcpy") {
            Self::Copy
        } else if name.starts_with("CUDA memset") {
            Self::Set
        } else {
            Self::Kernel
        }
    }
}

/// One row of a table of times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// The kernel's name, or the operation's.
    pub name: String,
    /// Its activity.
    pub activity: Activity,
    /// Number of calls.
    pub calls: u64,
    /// Total time, nanoseconds.
    pub ns: f64,
}

/// Reads the kernels and operations of the device, the longest time first, from the output of `nsys stats --format csv` for
/// `cuda_gpu_kern_sum`, `cuda_gpu_mem_time_sum` or `cuda_gpu_sum`, one or several, or from that of `nvprof --csv`. Tables of
/// sizes are skipped.
///
/// # Errors
/// Names the row and what is wrong in it, or says that there is no such table.
pub fn kernel_rows(text: &str) -> Result<Vec<KernelRow>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).trim(csv::Trim::All);
    let mut cells: Vec<Vec<String>> = Vec::new();
    for record in reader.from_reader(text.as_bytes()).records() {
        cells.push(
            record
                .context("not a CSV file")?
                .iter()
                .map(str::to_owned)
                .collect(),
        );
    }
    let mut rows = read::rows(&cells)?;
    ensure!(
        !rows.is_empty(),
        "no table of kernels: expected the CSV of `nsys stats --report cuda_gpu_kern_sum --format csv FILE`, or that of nvprof"
    );
    rows.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    Ok(rows)
}

/// The share of an activity in the device's busy time; None if it was never busy.
pub fn time_share(rows: &[KernelRow], activity: Activity) -> Option<f64> {
    let all: f64 = rows.iter().map(|r| r.ns).sum();
    let of: f64 = rows.iter().filter(|r| r.activity == activity).map(|r| r.ns).sum();
    (all > 0.0).then(|| of / all)
}

#[cfg(test)]
mod tests;
