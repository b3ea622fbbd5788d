//! The tables of kernels and copies that nsys and nvprof write.

mod log;
mod read;

use std::path::Path;

use anyhow::{Context, Result, ensure};

pub use read::copy_share;

use super::{Kind, Span, Total};

/// An activity of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
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

/// One row of a table of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// `[CUDA memcpy Host-to-Device]`.
    pub name: String,
    /// Number of transfers.
    pub count: u64,
    /// Total bytes.
    pub bytes: f64,
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelTable {
    /// Kernels and operations of the device.
    pub rows: Vec<KernelRow>,
    /// Sizes of the transfers.
    pub transfers: Vec<Transfer>,
}

impl KernelTable {
    /// Reads the output of `nsys stats --format csv` for `cuda_gpu_kern_sum`, `cuda_gpu_mem_time_sum`, `cuda_gpu_sum` and
    /// `cuda_gpu_mem_size_sum`, one or several; or the output of `nvprof`, with `--csv` or without.
    ///
    /// # Errors
    /// Names the line and what is wrong in it, or says that there is no such table.
    pub fn parse(text: &str) -> Result<Self> {
        let table = if log::is_log(text) {
            log::read(text)?
        } else {
            read::read(&cells(text)?)?
        };
        ensure!(
            !table.rows.is_empty() || !table.transfers.is_empty(),
            "no table of kernels: expected the CSV of `nsys stats --report cuda_gpu_kern_sum --format csv FILE`, or the output of nvprof"
        );
        Ok(table)
    }

    /// Reads a file; see [`Self::parse`].
    ///
    /// # Errors
    /// Names the file.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::parse(&String::from_utf8_lossy(&bytes)).with_context(|| path.display().to_string())
    }

    /// Nanoseconds of all rows of an activity.
    pub fn time(&self, activity: Activity) -> f64 {
        let of = self.rows.iter().filter(|r| r.activity == activity);
        of.map(|r| r.ns).sum()
    }

    /// The share of copies in the device's busy time; None if it was never busy.
    pub fn copy_share(&self) -> Option<f64> {
        let all: f64 = self.rows.iter().map(|r| r.ns).sum();
        (all > 0.0).then(|| self.time(Activity::Copy) / all)
    }
}

/// The cells of a device's kernel table with the columns of nsys, from its spans and their [`Total`]s. A span within another
/// one counts once: the times are self times, so that the percentages add up to 100.
pub fn kernel_cells(device: &[Span], totals: &[Total]) -> Vec<Vec<String>> {
    let header = [
        "Time (%)",
        "Total Time (ns)",
        "Instances",
        "Category",
        "Operation",
    ];
    let all: u64 = totals.iter().map(|t| t.own).sum();
    let row = |total: &Total| {
        let copy = device
            .iter()
            .any(|s| s.name == total.name && s.kind == Kind::Copy);
        let (category, name) = if copy {
            ("MEMORY_OPER", "[CUDA memcpy Host-to-Device]")
        } else {
            ("CUDA_KERNEL", total.name.as_str())
        };
        vec![
            format!("{:.1}", 100.0 * total.own as f64 / all.max(1) as f64),
            total.own.to_string(),
            total.calls.to_string(),
            category.into(),
            name.into(),
        ]
    };
    let header = header.map(String::from).to_vec();
    std::iter::once(header).chain(totals.iter().map(row)).collect()
}

/// The cells of a CSV file, line by line; lines may differ in length. Blank lines are left out.
fn cells(text: &str) -> Result<Vec<Vec<String>>> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.context("not a CSV file")?;
        rows.push(record.iter().map(str::to_owned).collect());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
