//! The tables of kernels and copies that nsys and nvprof write.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

// ANCHOR: Activity
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
// ANCHOR_END: Activity

impl Activity {
    /// By the name that both tools give: `[CUDA memcpy HtoD]`, `[CUDA memcpy Host-to-Device]`, `[CUDA memset]`.
    pub fn of(name: &str) -> Self {
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

// ANCHOR: KernelRow
/// One row of a table of times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// The kernel's name, or the operation's.
    pub name: String,
    /// Its activity.
    pub activity: Activity,
    /// Number of calls.
    pub calls: u64,
    /// Total time of all calls, nanoseconds.
    pub ns: f64,
}
// ANCHOR_END: KernelRow

/// Reads the kernels and operations of the device, the longest time first, from the output of `nsys stats --format csv` for
/// `cuda_gpu_kern_sum`, `cuda_gpu_mem_time_sum` or `cuda_gpu_sum`, one or several, or from that of `nvprof --csv`. Tables of
/// sizes are skipped.
///
/// # Errors
/// Names the row and what is wrong in it, or says that there is no such table.
pub fn kernel_rows(text: &str) -> Result<Vec<KernelRow>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).trim(csv::Trim::All);
    let cells = reader.from_reader(text.as_bytes()).into_deserialize();
    let cells = cells
        .collect::<Result<Vec<Vec<String>>, _>>()
        .context("not a CSV file")?;
    let mut rows = rows(&cells)?;
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

/// The share of copies in the time of all rows; None if this time is 0.
pub fn copy_share(rows: &[KernelRow]) -> Option<f64> {
    time_share(rows, Activity::Copy)
}

/// The columns of percentages of nsys and nvprof.
const PERCENTAGES: [&str; 2] = ["Time (%)", "Time(%)"];

/// The first column with one of `names`.
fn find(line: &[String], names: &[&str]) -> Option<usize> {
    line.iter().position(|c| names.contains(&c.as_str()))
}

/// The rows of all tables of times in `cells`.
///
/// A table begins with the line that names its columns. nsys: `Time (%)`, `Total Time (ns)` and, in the last column, `Name`
/// or `Operation`. nvprof: `Type`, `Time(%)`, `Time`, … `Name`; the next line contains the units; rows whose `Type` is not
/// `GPU activities` are of the host and do not count. A line of fewer than 3 cells ends a table.
fn rows(cells: &[Vec<String>]) -> Result<Vec<KernelRow>> {
    let mut rows = Vec::new();
    // The columns of the current table, and the nanoseconds of its unit after the line that contains it.
    let mut table: Option<(&[String], Option<f64>)> = None;
    for (i, line) in cells.iter().enumerate() {
        let at = || format!("row {}", i + 1);
        let timed = find(line, &PERCENTAGES).is_some();
        let named = find(line, &["Name", "Operation"]).is_some();
        if named && (timed || line.iter().any(|c| c.starts_with("Total ("))) {
            let unit = line.iter().find_map(|c| total_time(c)).map(nanoseconds);
            // A table of sizes is skipped.
            table = timed.then_some((line, unit.transpose().with_context(at)?));
        } else if line.len() < 3 {
            table = None;
        } else if let Some((columns, unit)) = &mut table {
            let time = columns
                .iter()
                .position(|c| c == "Time" || total_time(c).is_some());
            let neither = "a table with 'Time (%)' has neither 'Total Time (ns)' nor 'Time'";
            let time = time.context(neither).with_context(at)?;
            // Rows of nvprof may be of the host.
            let kind = find(columns, &["Type"]).and_then(|kind| line.get(kind));
            match unit {
                None => *unit = Some(nanoseconds(cell(line, time)?).with_context(at)?),
                Some(unit) if kind.is_none_or(|kind| kind == "GPU activities") => {
                    rows.push(row(columns, line, time, *unit).with_context(at)?);
                }
                Some(_) => {}
            }
        }
    }
    Ok(rows)
}

/// The unit in nsys' name of the column of times.
fn total_time(column: &str) -> Option<&str> {
    column.strip_prefix("Total Time (")?.strip_suffix(')')
}

fn row(columns: &[String], line: &[String], time: usize, unit: f64) -> Result<KernelRow> {
    // `cuda_gpu_sum` has a column `Category` before `Operation`.
    let name = find(columns, &["Operation"]).or_else(|| find(columns, &["Name"]));
    let name = cell(line, name.context("no column 'Name'")?)?.to_owned();
    let calls = find(
        columns,
        &["Instances", "Count", "Calls", "Num Calls", "Operations"],
    );
    Ok(KernelRow {
        activity: Activity::of(&name),
        name,
        calls: calls.map_or(Ok(1.0), |c| number(line, c))? as u64,
        ns: number(line, time)? * unit,
    })
}

fn nanoseconds(unit: &str) -> Result<f64> {
    Ok(match unit {
        "ns" => 1.0,
        "us" | "μs" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        _ => anyhow::bail!("the unit of the time is '{unit}'; expected s, ms, us or ns"),
    })
}

fn cell(line: &[String], column: usize) -> Result<&str> {
    let cell = line.get(column).map(String::as_str);
    cell.with_context(|| format!("there are {} cells; number {} is missing", line.len(), column + 1))
}

fn number(line: &[String], column: usize) -> Result<f64> {
    let text = cell(line, column)?;
    let number = text.replace(',', "").parse().ok();
    let number = number.filter(|n: &f64| n.is_finite() && *n >= 0.0);
    number.with_context(|| format!("'{text}' is not a time or count"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NSYS: &str = "\
Processing [run.sqlite] with [cuda_gpu_sum.py]...
Time (%),Total Time (ns),Instances,Category,Operation
75.0,600000,300,CUDA_KERNEL,\"void gemm<float, (int)128>(const float *, int)\"
25.0,200000,60,MEMORY_OPER,[CUDA memcpy Host-to-Device]
";

    const NVPROF: &str = "\
==4242== Profiling result:
\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Name\"
,%,ms,,
\"GPU activities\",80.0,0.8,300,\"void gemm<float, int=128>(float const *, int)\"
\"API calls\",99.0,500.0,1,\"cudaMemcpy\"
";

    /// One table with its columns in a different order, then one of sizes.
    const TURNED: &str = "\
Name,Instances,Total Time (ns),Time (%)
my_memcpy<float>,2,50.5,85.0
[CUDA memset],1,9,15.0
Total (MB),Count,Operation
9,9,[CUDA memcpy Host-to-Device]

Done.
exported,5,5,5
";

    #[test]
    fn every_table_of_times_is_read_with_its_own_columns_and_unit() {
        let rows = kernel_rows(&[TURNED, NSYS, NVPROF].concat()).unwrap();
        let shown = |r: &KernelRow| format!("{:.9}: {:?} {} {}", r.name, r.activity, r.calls, r.ns);
        let expected = [
            "void gemm: Kernel 300 800000",
            "void gemm: Kernel 300 600000",
            "[CUDA mem: Copy 60 200000",
            "my_memcpy: Kernel 2 50.5",
            "[CUDA mem: Set 1 9",
        ];
        assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_example_of_lesson_05_has_the_share_of_its_chapter() {
        let rows = kernel_rows(include_str!("../../../lessons/lesson05/kernels.csv")).unwrap();
        assert_eq!(copy_share(&rows), Some(0.225));
    }

    #[test]
    fn errors_name_the_row() {
        let header = "Time (%),Total Time (ns),Instances,Name\n";
        for (text, parts) in [
            (String::new(), &["nsys stats"][..]),
            ("a,b,c\n1,2,3\n".into(), &["no table of kernels"]),
            (
                NSYS.replace("600000", "many"),
                &["row 3", "'many' is not a time or count"],
            ),
            (
                NVPROF.replace(",%,ms,", ",%,fortnights,"),
                &["row 3", "fortnights"],
            ),
            (format!("{header}1,-5,2,x\n"), &["'-5'"]),
            (format!("{header}1,5,2\n"), &["row 2", "missing"]),
        ] {
            let said = format!("{:#}", kernel_rows(&text).unwrap_err());
            assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_file_panics_the_reader(text in "(?s).{0,300}", cut in 0usize..900, at in 0usize..900, byte: u8) {
            let _ = kernel_rows(&text);
            for whole in [NSYS, NVPROF] {
                prop_assert!(kernel_rows(whole).is_ok());
                let mut bytes = whole.as_bytes().to_vec();
                let at = at % bytes.len();
                bytes[at] = byte;
                bytes.truncate(cut.max(1));
                let _ = kernel_rows(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}
