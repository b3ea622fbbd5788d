//! Text with a point per line: XYZ, PTS, TXT, CSV and ASC files.
//!
//! Lines that begin with `#`, `//` or `%` are comments. The names of the columns may be in a comment or in one line before the
//! points; without them the first three columns are x, y and z. A line of one integer says how many points follow, as in PTS
//! files. The first point shows what separates values, and whether decimals have a comma.

use std::{fs::File, io::Read, path::Path};

use anyhow::{Context, Result, ensure};

use super::{
    Loaded,
    points::{Points, Role, Row},
};

/// What separates the fields of a line like this one: a semicolon, a comma, or blanks.
fn separator(line: &[u8]) -> u8 {
    let sign = [b';', b','].into_iter().find(|sign| line.contains(sign));
    sign.unwrap_or(b' ')
}

/// The fields of `line`.
fn split(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let blanks = separator == b' ';
    let fields = line.split(move |b| *b == separator || blanks && b.is_ascii_whitespace());
    fields
        .map(<[u8]>::trim_ascii)
        .filter(move |f| !blanks || !f.is_empty())
}

/// The number in `field`. `nan` and `inf` are numbers here; the reader handles them.
fn number(field: &[u8], decimal_comma: bool) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?;
    if decimal_comma && text.contains(',') {
        return text.replacen(',', ".", 1).parse().ok();
    }
    text.parse().ok()
}

/// Whether `line` is a comment.
fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.starts_with(b"//") || line.starts_with(b"%")
}

/// How many of the first fields of `line` are numbers, up to three.
fn numbers(line: &[u8]) -> usize {
    let fields = split(line, separator(line)).take(3);
    fields.take_while(|f| number(f, true).is_some()).count()
}

/// The columns that `header` names, if x, y and z are among them. Of columns with the same meaning the first is used.
fn named(header: &[u8]) -> Option<Vec<(usize, Role)>> {
    let sign = header.iter().take_while(|b| b"#/%".contains(b)).count();
    let names = header[sign..].trim_ascii();
    let mut columns: Vec<(usize, Role)> = Vec::new();
    for (i, name) in split(names, separator(names)).enumerate() {
        let role = Role::of(&String::from_utf8_lossy(name));
        columns.extend(
            role.filter(|role| columns.iter().all(|c| c.1 != *role))
                .map(|r| (i, r)),
        );
    }
    let axes = columns.iter().filter(|c| matches!(c.1, Role::Axis(_)));
    (axes.count() == 3).then_some(columns)
}

/// How points are parsed.
struct Layout {
    separator: u8,
    decimal_comma: bool,
    /// The columns that are used.
    columns: Vec<(usize, Role)>,
}

impl Layout {
    /// The layout of a file whose first point is `line`.
    fn new(line: &[u8], columns: Option<Vec<(usize, Role)>>) -> Self {
        let separator = separator(line);
        Self {
            separator,
            decimal_comma: separator == b';' && !line.contains(&b'.'),
            columns: columns.unwrap_or_else(|| [0, 1, 2].map(|a| (a, Role::Axis(a))).to_vec()),
        }
    }

    /// The point in `line`.
    fn row(&self, line: &[u8]) -> Result<Row> {
        let fields: Vec<&[u8]> = split(line, self.separator).collect();
        let width = self.columns.iter().map(|c| c.0 + 1).max().unwrap_or(0);
        ensure!(
            fields.len() >= width,
            "expected {width} columns, found {}; is the file truncated?",
            fields.len()
        );
        let mut row = Row::default();
        for &(column, role) in &self.columns {
            let v = number(fields[column], self.decimal_comma);
            row.set(
                role,
                v.with_context(|| format!("expected a number in column {}", column + 1))?,
            );
        }
        Ok(row)
    }
}

/// The lines of `text` that are not empty, without blanks around them, and their numbers.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

/// Whether `head`, the first bytes of a file, looks like lines of x y z. A count and names may come before them.
pub fn looks_numeric(head: &[u8]) -> bool {
    let mut lines = lines(head).filter(|(_, l)| !is_comment(l)).take(3);
    !head.contains(&0) && lines.any(|(_, line)| numbers(line) == 3)
}

/// Whether the text file at `path` begins like prose: no line names columns or begins with a number. A file that cannot be read
/// or is empty is not prose.
pub fn is_prose(path: &Path) -> bool {
    let mut head = Vec::new();
    let mut read = || File::open(path)?.take(1 << 12).read_to_end(&mut head);
    let text = |e: &std::ffi::OsStr| ["txt", "csv", "asc"].iter().any(|t| e.eq_ignore_ascii_case(t));
    if !path.extension().is_some_and(text) || read().is_err() || head.contains(&0) {
        return false;
    }
    let of_points = |(_, line)| numbers(line) > 0 || named(line).is_some();
    !head.is_empty() && !lines(&head).any(of_points)
}

/// Reads a text file.
pub fn read(mut file: File) -> Result<Loaded> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let (mut columns, mut has_names, mut layout) = (None, false, None);
    let (mut announced, mut points) = (0u64, Points::default());
    for (number, line) in lines(text) {
        if is_comment(line) {
            columns = columns.or_else(|| named(line));
        } else if let Some(n) = std::str::from_utf8(line).ok().and_then(|l| l.parse().ok()) {
            // A PTS file may have several scans, each with its own count.
            announced = announced.saturating_add(n);
        } else if layout.is_none() && !has_names && numbers(line) == 0 {
            (columns, has_names) = (named(line).or(columns), true);
        } else {
            let layout = layout.get_or_insert_with(|| Layout::new(line, columns.take()));
            let added = layout.row(line).and_then(|row| points.add(row));
            added.with_context(|| {
                let quoted: String = String::from_utf8_lossy(line).chars().take(60).collect();
                format!("line {number}: {quoted:?}")
            })?;
        }
    }
    let cloud = points.cloud();
    let found = cloud.len();
    ensure!(found > 0, "expected lines of x y z, found none");
    ensure!(
        found as u64 >= announced,
        "the file ends after {found} points, its count line says {announced}: it is truncated, copy or download it again"
    );
    Ok(Loaded {
        cloud,
        grid: None,
        warnings: Vec::new(),
    })
}
