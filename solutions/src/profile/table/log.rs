//! nvprof's log as it prints it: aligned columns, each value with its unit.

use anyhow::{Context, Result};

use super::{Activity, KernelRow, KernelTable, read::nanoseconds};

/// Whether `text` has a line that names the columns without commas.
pub(super) fn is_log(text: &str) -> bool {
    text.lines().any(is_header)
}

fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|w| *w == "Type");
    words.next() == Some("Time(%)") && words.next() == Some("Time")
}

/// The rows of the device.
pub(super) fn read(text: &str) -> Result<KernelTable> {
    let mut table = KernelTable::default();
    let (mut within, mut host) = (false, false);
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if is_header(line) {
            within = true;
            continue;
        }
        host = (host || line.contains("API calls:")) && !line.starts_with("GPU activities:");
        // In a line that begins a part, the row follows the colon.
        let row = ["GPU activities:", "API calls:", "OpenACC (excl):"]
            .iter()
            .find_map(|p| line.strip_prefix(p))
            .unwrap_or(line)
            .trim();
        if !within || host || !starts_with_share(row) {
            continue;
        }
        table
            .rows
            .push(of_row(row).with_context(|| format!("line {}", i + 1))?);
    }
    Ok(table)
}

fn starts_with_share(row: &str) -> bool {
    let first = row.split_whitespace().next().unwrap_or_default();
    first.strip_suffix('%').is_some_and(|n| n.parse::<f64>().is_ok())
}

/// `98.62%  97.765ms  16999  5.7510us  2.6560us  11.744us  name with spaces`.
fn of_row(row: &str) -> Result<KernelRow> {
    let mut rest = row;
    let mut next = || {
        rest = rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        word
    };
    let (_, time, calls) = (next(), next(), next());
    for _ in 0..3 {
        next();
    }
    let name = rest.trim();
    let split = time
        .find(|c: char| c.is_alphabetic() || c == 'μ' || c == 'µ')
        .unwrap_or(time.len());
    let (number, unit) = time.split_at(split);
    let number: Option<f64> = number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    let ns = number
        .zip(nanoseconds(unit))
        .map(|(n, unit)| n * unit)
        .with_context(|| format!("'{time}' is not a time such as 97.765ms"))?;
    let calls = calls
        .parse()
        .ok()
        .with_context(|| format!("'{calls}' is not a number of calls"))?;
    anyhow::ensure!(!name.is_empty(), "the name is missing");
    Ok(KernelRow {
        name: name.to_owned(),
        activity: Activity::of(name),
        calls,
        ns,
    })
}
