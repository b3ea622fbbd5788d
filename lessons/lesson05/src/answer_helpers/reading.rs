//! `copy_share` with switches.

/// What reading a table may do differently.
#[derive(Clone, Copy)]
pub struct Reading {
    pub is_copy: fn(&str) -> bool,
    /// Whether a row is part of the device's time, by its name.
    pub is_busy: fn(&str) -> bool,
    /// Rows of the host count.
    pub host: bool,
    /// The unit that the line after nvprof's header says, in nanoseconds.
    pub unit: fn(&str) -> f64,
    /// The unit of the first table is that of all.
    pub first_unit: bool,
    /// A table of nsys is read in the unit of the table before.
    pub keeps_unit: bool,
    /// The unit is the first one in the line of units.
    pub any_unit: bool,
    /// Takes the columns of nsys, and those of nvprof, where the tools have them today.
    pub fixed: (bool, bool),
    /// Takes the last column for that of names.
    pub last_name: bool,
    /// The names of the column of names.
    pub names: &'static [&'static str],
    /// The name of nvprof's column of percentages; without it, the table is one of sizes.
    pub percent: &'static str,
    /// Which lines begin a table although a table is being read.
    pub anew: Anew,
    /// A line of fewer cells ends a table.
    pub ends_below: usize,
    /// The columns of the first table are those of all tables, of one tool or of both.
    pub first_columns: (bool, bool),
    /// Times of (nsys, nvprof) that are not whole numbers are not read.
    pub whole: (bool, bool),
    /// Which rows belong to the host, by their type and name.
    pub of_host: fn(&str, &str) -> bool,
    /// The first line must begin a table.
    pub first_line: bool,
    /// Only the first table is read.
    pub first: bool,
    /// The column of times, if another.
    pub time: Option<&'static [&'static str]>,
    /// The result, from the times of the copies and of all, of each table.
    pub result: fn(&[(f64, f64)]) -> Option<f64>,
}

/// Which lines begin a table although a table is being read.
#[derive(Clone, Copy, PartialEq)]
pub enum Anew {
    All,
    /// Not those of a table of sizes: its rows are read as those of the table before.
    NoSizes,
    /// None: the columns stay those of the table before.
    None,
}

pub const READING: Reading = Reading {
    is_copy: |name| name.starts_with("[CUDA memcpy"),
    is_busy: |_| true,
    host: false,
    unit: |unit| match unit {
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        _ => 1.0,
    },
    first_unit: false,
    keeps_unit: false,
    any_unit: false,
    fixed: (false, false),
    last_name: false,
    names: &["Operation", "Name"],
    percent: "Time(%)",
    anew: Anew::All,
    ends_below: 3,
    first_columns: (false, false),
    whole: (false, false),
    of_host: |kind, _| kind != "GPU activities",
    first_line: false,
    first: false,
    time: None,
    result: |tables| share(sum(tables)),
};

/// Of all tables together.
pub fn sum(tables: &[(f64, f64)]) -> (f64, f64) {
    tables.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
}

pub fn share((copies, all): (f64, f64)) -> Option<f64> {
    (all > 0.0).then(|| copies / all)
}

/// The cells cut into tables first, then each read by itself.
pub fn shared(cells: &[Vec<String>], how: Reading) -> Option<f64> {
    let mut tables: Vec<Vec<&Vec<String>>> = Vec::new();
    let mut within = false;
    let has = |line: &[String], names: &[&str]| line.iter().any(|c| names.contains(&c.as_str()));
    for (i, line) in cells.iter().enumerate() {
        let heads = has(line, how.names);
        let times = has(line, &["Time (%)", how.percent]);
        let begins = match how.anew {
            Anew::All => heads,
            Anew::NoSizes => heads && (times || !within),
            Anew::None => heads && !within,
        };
        if how.first_line && i == 0 && !begins {
            return None;
        }
        if begins {
            within = times;
            if times {
                tables.push(Vec::new());
            }
        } else if line.len() < how.ends_below {
            within = false;
        }
        if let (true, Some(table)) = (within, tables.last_mut()) {
            table.push(line);
        }
    }
    if how.first {
        tables.truncate(1);
    }
    let (mut unit_before, mut columns) = (None, None);
    let read = |table: &Vec<&Vec<String>>| table_read(table, how, &mut unit_before, &mut columns);
    let sums = tables.iter().map(read);
    (how.result)(&sums.collect::<Option<Vec<_>>>()?)
}

/// The times of copies and of everything in a table.
fn table_read(
    table: &[&Vec<String>],
    how: Reading,
    unit_before: &mut Option<f64>,
    columns: &mut Option<(usize, usize)>,
) -> Option<(f64, f64)> {
    let head = table[0];
    let find = |names: &[&str]| head.iter().position(|c| names.contains(&c.as_str()));
    let of_nsys = find(&["Total Time (ns)"]);
    let kind = find(&["Type"]);
    let (time, name) = match (how.fixed, of_nsys.is_some()) {
        ((true, _), true) => (1, head.len() - 1),
        ((_, true), false) => (2, 7),
        _ => (
            of_nsys.or(find(&["Time"]))?,
            how.names.iter().find_map(|name| find(&[name]))?,
        ),
    };
    let (of_first, last) = (
        if of_nsys.is_some() {
            how.first_columns.0
        } else {
            how.first_columns.1
        },
        head.len() - 1,
    );
    let (time, name) = if of_first {
        *columns.get_or_insert((time, name))
    } else {
        (time, name)
    };
    let name = if how.last_name { last } else { name };
    let (time, name) = (time.min(last), name.min(last));
    let unit = match (of_nsys, table.get(1)) {
        (Some(_), _) | (_, None) => 1.0,
        (None, Some(units)) if how.any_unit => {
            let known = units
                .iter()
                .find(|u| ["s", "ms", "us", "ns"].contains(&u.as_str()));
            known.map_or(1.0, |u| (how.unit)(u))
        }
        (None, Some(units)) => (how.unit)(&units[time]),
    };
    let unit = if how.first_unit && of_nsys.is_none() {
        *unit_before.get_or_insert(unit)
    } else {
        unit
    };
    let unit = match of_nsys {
        Some(_) if how.keeps_unit => unit_before.unwrap_or(unit),
        None if how.keeps_unit => *unit_before.insert(unit),
        _ => unit,
    };
    let skipped = if of_nsys.is_some() { 1 } else { 2 };
    let time = how.time.map_or(Some(time), find)?;
    let (mut copies, mut all) = (0.0, 0.0);
    for row in table.iter().skip(skipped) {
        let (Some(cell), Some(name)) = (row.get(time), row.get(name)) else {
            continue;
        };
        let of_host = kind.is_some_and(|k| row.get(k).is_some_and(|kind| (how.of_host)(kind, name)));
        if (of_host && !how.host) || !(how.is_busy)(name) {
            continue;
        }
        let whole = if of_nsys.is_some() {
            how.whole.0
        } else {
            how.whole.1
        };
        let number = if whole {
            cell.parse::<u64>().ok().map(|n| n as f64)
        } else {
            cell.parse().ok()
        };
        let ns = number.unwrap_or(0.0) * unit;
        all += ns;
        copies += if (how.is_copy)(name) { ns } else { 0.0 };
    }
    Some((copies, all))
}
