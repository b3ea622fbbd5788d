//! Reads the cells of a CSV file.

use anyhow::{Context, Result, ensure};

use super::{Activity, KernelRow, time_share};

/// The share of copies in the device's busy time, from the cells of a profiler's CSV file; None if there is no table of
/// times, or no time in it.
///
/// A table begins with the line that names its columns. nsys: `Time (%)`, `Total Time (ns)` and, in the last column, `Name`
/// or `Operation`; all times in nanoseconds. nvprof: `Type`, `Time(%)`, `Time`, … `Name`; the next line contains the units,
/// and that of Time may be `s`, `ms`, `us` or `ns`; rows whose `Type` is not `GPU activities` are of the host and do not
/// count. Several tables may follow each other. Copies are the rows whose name begins with `[CUDA memcpy`; `[CUDA memset]`
/// is not a copy, and counts as busy time.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    time_share(&rows(cells).ok()?, Activity::Copy)
}

/// The columns of a table of times.
struct Columns {
    time: usize,
    /// Nanoseconds of its unit; None until the line that contains it.
    unit: Option<f64>,
    calls: Option<usize>,
    name: usize,
    /// Whether the row is of the device or of the host.
    kind: Option<usize>,
}

/// The rows of all tables of times in `cells`.
pub(super) fn rows(cells: &[Vec<String>]) -> Result<Vec<KernelRow>> {
    let mut rows = Vec::new();
    let mut table: Option<Columns> = None;
    for (i, line) in cells.iter().enumerate() {
        let at = || format!("row {}", i + 1);
        if names_columns(line) {
            table = Columns::of(line).with_context(at)?;
        } else if line.len() < 3 {
            table = None;
        } else if let Some(columns) = &mut table {
            match columns.unit {
                None => columns.unit = Some(nanoseconds(cell(line, columns.time)?).with_context(at)?),
                Some(unit) if columns.of_device(line) => rows.push(columns.row(line, unit).with_context(at)?),
                Some(_) => {}
            }
        }
    }
    Ok(rows)
}

/// The columns of percentages of nsys and nvprof.
const PERCENTAGES: [&str; 2] = ["Time (%)", "Time(%)"];

/// Whether a line begins a table, of times or of sizes.
fn names_columns(line: &[String]) -> bool {
    line.iter().any(|c| c == "Name" || c == "Operation")
        && line
            .iter()
            .any(|c| PERCENTAGES.contains(&c.as_str()) || c.starts_with("Total ("))
}

impl Columns {
    /// None if the line begins a table of sizes.
    fn of(line: &[String]) -> Result<Option<Self>> {
        let find = |names: &[&str]| line.iter().position(|c| names.contains(&c.as_str()));
        if find(&PERCENTAGES).is_none() {
            return Ok(None);
        }
        let unit_of = |c: &str| -> Option<String> {
            Some(c.strip_prefix("Total Time (")?.strip_suffix(')')?.to_owned())
        };
        let nsys = line.iter().enumerate().find_map(|(i, c)| Some((i, unit_of(c)?)));
        let (time, unit) = match nsys {
            Some((time, unit)) => (time, Some(nanoseconds(&unit)?)),
            None => {
                let time = find(&["Time"]);
                let time =
                    time.context("a table with 'Time (%)' has neither 'Total Time (ns)' nor 'Time'")?;
                (time, None)
            }
        };
        // `cuda_gpu_sum` has a column `Category` before `Operation`.
        let name = find(&["Operation"]).or_else(|| find(&["Name"]));
        Ok(Some(Self {
            time,
            unit,
            calls: find(&["Instances", "Count", "Calls", "Num Calls", "Operations"]),
            name: name.context("no column 'Name'")?,
            kind: find(&["Type"]),
        }))
    }

    fn of_device(&self, line: &[String]) -> bool {
        self.kind
            .is_none_or(|k| line.get(k).is_some_and(|t| t == "GPU activities"))
    }

    fn row(&self, line: &[String], unit: f64) -> Result<KernelRow> {
        let name = cell(line, self.name)?.to_owned();
        Ok(KernelRow {
            activity: Activity::of(&name),
            name,
            calls: self.calls.map_or(Ok(1.0), |c| number(line, c))? as u64,
            ns: number(line, self.time)? * unit,
        })
    }
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
    let number = text.replace(',', "").parse();
    let number: f64 = number.ok().with_context(|| format!("'{text}' is not a number"))?;
    ensure!(
        number.is_finite() && number >= 0.0,
        "'{text}' is not a time or count"
    );
    Ok(number)
}
