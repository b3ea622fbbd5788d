//! Reads the cells of a CSV file.

use anyhow::{Context, Result, bail, ensure};

use super::{Activity, KernelRow, KernelTable, Transfer};

/// The share of copies in the device's busy time, from the cells of a profiler's CSV file; None if there is no table of
/// times, or no time in it.
///
/// A table begins with the line that names its columns. nsys: `Time (%)`, `Total Time (ns)` and, in the last column, `Name`
/// or `Operation`; all times in nanoseconds. nvprof: `Type`, `Time(%)`, `Time`, … `Name`; the next line contains the units,
/// and that of Time may be `s`, `ms`, `us` or `ns`; rows whose `Type` is not `GPU activities` are of the host and do not
/// count. Several tables may follow each other. Copies are the rows whose name begins with `[CUDA memcpy`; `[CUDA memset]`
/// is not a copy, and counts as busy time.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    read(cells).ok()?.copy_share()
}

/// The columns of a table, from its first line.
enum Header {
    Times {
        time: usize,
        /// Nanoseconds of its unit; None if the next line contains it.
        unit: Option<f64>,
        calls: Option<usize>,
        name: usize,
        kind: Option<usize>,
    },
    Sizes {
        bytes: usize,
        unit: f64,
        count: Option<usize>,
        name: usize,
    },
}

/// The rows of all tables in `cells`.
pub(super) fn read(cells: &[Vec<String>]) -> Result<KernelTable> {
    let mut table = KernelTable::default();
    let mut header: Option<Header> = None;
    let mut host = false;
    for (i, line) in cells.iter().enumerate() {
        let at = || format!("row {}", i + 1);
        if let Some(new) = of_line(line).with_context(at)? {
            header = Some(new);
            continue;
        }
        if line.len() < 3 {
            // Older nvprof has no column `Type` but a line between its tables.
            host |= line.iter().any(|c| c.contains("API calls"));
            header = None;
            continue;
        }
        match &mut header {
            None => {}
            Some(Header::Times {
                unit: unit @ None,
                time,
                ..
            }) => {
                let text = line.get(*time).map_or("", String::as_str);
                *unit = Some(nanoseconds(text).with_context(|| {
                    format!(
                        "row {}: the unit of Time is '{text}'; expected s, ms, us or ns",
                        i + 1
                    )
                })?);
            }
            Some(Header::Times {
                time,
                unit: Some(unit),
                calls,
                name,
                kind,
            }) => {
                let of_device = kind.is_none_or(|k| line.get(k).is_some_and(|t| t == "GPU activities"));
                if of_device && !host {
                    let name = cell(line, *name).with_context(at)?;
                    table.rows.push(KernelRow {
                        name: name.to_owned(),
                        activity: Activity::of(name),
                        calls: calls
                            .map_or(Ok(1), |c| number(line, c).map(|n| n as u64))
                            .with_context(at)?,
                        ns: number(line, *time).with_context(at)? * *unit,
                    });
                }
            }
            Some(Header::Sizes {
                bytes,
                unit,
                count,
                name,
            }) => table.transfers.push(Transfer {
                name: cell(line, *name).with_context(at)?.to_owned(),
                count: count
                    .map_or(Ok(1), |c| number(line, c).map(|n| n as u64))
                    .with_context(at)?,
                bytes: number(line, *bytes).with_context(at)? * *unit,
            }),
        }
    }
    Ok(table)
}

fn of_line(line: &[String]) -> Result<Option<Header>> {
    let find = |names: &[&str]| line.iter().position(|c| names.contains(&c.as_str()));
    let Some(name) = find(&["Name", "Operation"]) else {
        return Ok(None);
    };
    // `cuda_gpu_sum` has a column `Category` before `Operation`; the name is in the last of the two.
    let name = find(&["Operation"]).unwrap_or(name);
    let count = find(&["Instances", "Count", "Calls", "Num Calls", "Operations"]);
    if find(&["Time (%)", "Time(%)"]).is_some() {
        if let Some((time, unit)) = with_unit(line, "Total Time (") {
            let unit = nanoseconds(unit)
                .with_context(|| format!("the unit of Total Time is '{unit}'; expected s, ms, us or ns"))?;
            return Ok(Some(Header::Times {
                time,
                unit: Some(unit),
                calls: count,
                name,
                kind: None,
            }));
        }
        let Some(time) = find(&["Time"]) else {
            bail!("a table with 'Time (%)' has neither 'Total Time (ns)' nor 'Time'");
        };
        let kind = find(&["Type"]);
        return Ok(Some(Header::Times {
            time,
            unit: None,
            calls: count,
            name,
            kind,
        }));
    }
    let Some((bytes, unit)) = with_unit(line, "Total (") else {
        return Ok(None);
    };
    let unit = match unit {
        "B" => 1.0,
        "KB" | "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => bail!("the unit of Total is '{other}'; expected B, KB, MB, GB, KiB, MiB or GiB"),
    };
    Ok(Some(Header::Sizes {
        bytes,
        unit,
        count,
        name,
    }))
}

/// The column whose name begins with `begins`, and the text in its brackets.
fn with_unit<'a>(line: &'a [String], begins: &str) -> Option<(usize, &'a str)> {
    let of = |(i, c): (usize, &'a String)| Some((i, c.strip_prefix(begins)?.strip_suffix(')')?));
    line.iter().enumerate().find_map(of)
}

pub(super) fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "μs" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        _ => return None,
    })
}

fn cell(line: &[String], column: usize) -> Result<&str> {
    let cell = line.get(column).map(String::as_str);
    cell.with_context(|| format!("there are {} cells; number {} is missing", line.len(), column + 1))
}

fn number(line: &[String], column: usize) -> Result<f64> {
    let text = cell(line, column)?;
    let number: f64 = text
        .replace(',', "")
        .parse()
        .ok()
        .with_context(|| format!("'{text}' is not a number"))?;
    ensure!(
        number.is_finite() && number >= 0.0,
        "'{text}' is not a time, count or size"
    );
    Ok(number)
}
