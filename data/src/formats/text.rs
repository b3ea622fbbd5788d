//! Text with a point per line: XYZ, PTS, TXT, CSV and ASC files.
//!
//! Separators, a header, a count line, comments and decimal commas are recognised from the first lines.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    points::{Points, Role, Row},
    reader::Loaded,
};

/// The longest line that is read, bytes.
const LONGEST: u64 = 64 << 10;
/// The most lines before the numbers.
const MOST_HEADERS: usize = 32;

/// What separates the fields of a line like this one: a semicolon, a comma, or blanks.
fn separator(line: &[u8]) -> u8 {
    let sign = [b';', b','].into_iter().find(|sign| line.contains(sign));
    sign.unwrap_or(b' ')
}

/// The fields of `line` before a comment.
fn split(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let blanks = separator == b' ';
    let fields = line.split(|b| *b == separator || blanks && b.is_ascii_whitespace());
    let fields = fields
        .map(<[u8]>::trim_ascii)
        .filter(|f| !blanks || !f.is_empty());
    let in_comment = |i: usize, f: &[u8]| i > 0 && (f.starts_with(b"#") || f.starts_with(b"//"));
    let before = fields.enumerate().take_while(|&(i, f)| !in_comment(i, f));
    before.map(|(_, f)| f).collect()
}

/// The number in `field`, without quotes. `nan` and `inf` are numbers here; the reader handles them.
fn number(field: &[u8], decimal_comma: bool) -> Option<f64> {
    let field = match field {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        field => field,
    };
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

/// The columns that `header` names, if x, y and z are among them once each. Of others with the same meaning the first is used.
fn named(header: &[u8]) -> Option<Vec<(usize, Role)>> {
    let sign = header.iter().take_while(|b| b"#/%".contains(b)).count();
    let names = header[sign..].trim_ascii();
    let mut columns: Vec<(usize, Role)> = Vec::new();
    for (i, name) in split(names, separator(names)).iter().enumerate() {
        let Some(role) = Role::of(&String::from_utf8_lossy(name)) else {
            continue;
        };
        let known = columns.iter().any(|c| c.1 == role);
        match role {
            Role::Axis(_) if known => return None,
            _ if known => {}
            _ => columns.push((i, role)),
        }
    }
    let axes = columns.iter().filter(|c| matches!(c.1, Role::Axis(_)));
    (axes.count() == 3).then_some(columns)
}

/// How lines are parsed.
struct Layout {
    separator: u8,
    decimal_comma: bool,
    /// The columns that are used.
    columns: Vec<(usize, Role)>,
}

impl Layout {
    /// The layout of a file whose first line of numbers is `line`, after the line `header`, if there is one. `None` if
    /// the columns for x, y and z of `line` are not numbers.
    fn new(line: &[u8], header: Option<&[u8]>) -> Option<Self> {
        let separator = separator(line);
        let layout = Self {
            separator,
            decimal_comma: separator == b';' && !line.contains(&b'.'),
            columns: header
                .and_then(named)
                .unwrap_or_else(|| [0, 1, 2].map(|a| (a, Role::Axis(a))).to_vec()),
        };
        let fields = split(line, separator);
        let is_number = |f: &&[u8]| number(f, layout.decimal_comma).is_some();
        let mut axes = layout.columns.iter().filter(|c| matches!(c.1, Role::Axis(_)));
        axes.all(|c| fields.get(c.0).is_some_and(is_number))
            .then_some(layout)
    }
}

/// The column, 2 or 3, of the only value that is not a number among the first three of `line`.
fn bad_column(line: &[u8]) -> Option<usize> {
    let fields = split(line, separator(line));
    let bad = |&i: &usize| number(fields[i], true).is_none();
    let bad: Vec<usize> = (0..3.min(fields.len())).filter(bad).collect();
    match bad[..] {
        [column] if column > 0 && fields.len() >= 3 => Some(column + 1),
        _ => None,
    }
}

/// The number in a line that has nothing else: the number of points in a PTS file.
fn count_line(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line).ok()?.parse().ok()
}

/// Whether `head`, the first bytes of a file, looks like lines of x y z.
pub fn looks_numeric(head: &[u8]) -> bool {
    let lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let header = lines.clone().find(|line| named(line).is_some());
    let mut lines = lines.filter(|l| !l.is_empty() && !is_comment(l)).take(8);
    let has_point = |l: &[u8]| Layout::new(l, None).is_some() || Layout::new(l, header).is_some();
    !head.contains(&0) && lines.any(has_point)
}

/// Whether the text file at `path` begins like prose: no line has x y z, or begins with a number. A file that cannot be read
/// or is empty is not prose.
pub fn is_prose(path: &Path) -> bool {
    let mut head = Vec::new();
    let mut read = || File::open(path)?.take(1 << 12).read_to_end(&mut head);
    let text = |e: &std::ffi::OsStr| ["txt", "csv", "asc"].iter().any(|t| e.eq_ignore_ascii_case(t));
    if !path.extension().is_some_and(text) || read().is_err() || head.contains(&0) || looks_numeric(&head) {
        return false;
    }
    let begins_with_number = |line: &[u8]| {
        let fields = split(line, separator(line));
        fields.first().is_some_and(|f| number(f, true).is_some())
    };
    !head.is_empty() && !head.split(|&b| b == b'\n').any(begins_with_number)
}

/// Reads the lines of a text file.
struct Lines {
    from: BufReader<File>,
    line: Vec<u8>,
    number: u64,
    layout: Layout,
    points: Points,
    /// The number of points in count lines, and the number of points found.
    announced: u64,
    found: u64,
}

/// Reads a text file.
pub fn read(file: File) -> Result<Loaded> {
    let mut lines = Lines {
        from: BufReader::with_capacity(1 << 18, file),
        line: Vec::new(),
        number: 0,
        layout: Layout::new(b"0 0 0", None).context("no layout")?,
        points: Points::default(),
        announced: 0,
        found: 0,
    };
    lines.find_layout()?;
    loop {
        if !is_comment(&lines.line) {
            lines.take_point()?;
        }
        if !lines.next_line()? {
            break;
        }
    }
    ensure!(
        lines.found >= lines.announced,
        "line {}: the file ends after {} points, its count line says {}: it is truncated, copy or download it again",
        lines.number,
        lines.found,
        lines.announced
    );
    Ok(Loaded {
        cloud: lines.points.cloud(),
        grid: None,
        warnings: Vec::new(),
    })
}

impl Lines {
    /// Reads up to the first line of numbers, and finds the layout.
    fn find_layout(&mut self) -> Result<()> {
        let mut header: Option<Vec<u8>> = None;
        let mut others: Vec<String> = Vec::new();
        while others.len() <= MOST_HEADERS && self.next_line()? {
            let line = &self.line;
            if is_comment(line) {
                header = Some(line.clone());
            } else if let Some(n) = count_line(line) {
                self.announced = n;
            } else if let Some(layout) = Layout::new(line, header.as_deref()) {
                self.layout = layout;
                return Ok(());
            } else {
                ensure!(
                    header.as_deref().and_then(named).is_none() || named(line).is_some(),
                    "{}: expected numbers in the columns that the header calls x, y and z",
                    self.quote()
                );
                // Two numbers of three: a point with a bad value, not the names of columns.
                if let Some(column) = bad_column(line) {
                    bail!("{}: expected a number in column {column}", self.quote());
                }
                header = Some(line.clone());
                others.push(self.quote());
            }
        }
        let found = match others.first() {
            Some(first) => format!("{first} and no such line after it"),
            None => format!("none in {} lines", self.number),
        };
        bail!("expected lines of three numbers or more, found {found}")
    }

    /// Reads the next line that is not empty into `line`, without blanks around it. Returns false at the end.
    fn next_line(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            let n = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.line)?;
            if n == 0 {
                return Ok(false);
            }
            self.number += 1;
            ensure!(
                (n as u64) < LONGEST,
                "line {}: longer than {LONGEST} bytes: not a text file of points",
                self.number
            );
            if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            let blank = self.line.len() - self.line.trim_ascii_start().len();
            self.line.drain(..blank);
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The line for a message.
    fn quote(&self) -> String {
        let text: String = String::from_utf8_lossy(&self.line).chars().take(60).collect();
        format!("line {}: {text:?}", self.number)
    }

    /// Adds the point in `line`, if it has one.
    fn take_point(&mut self) -> Result<()> {
        let Layout {
            separator,
            decimal_comma,
            columns,
        } = &self.layout;
        let fields = split(&self.line, *separator);
        if let ([_], Some(n)) = (&fields[..], count_line(&self.line)) {
            // A PTS file may have several scans, each with its own count.
            self.announced = self.announced.saturating_add(n);
            return Ok(());
        }
        let width = columns.iter().map(|c| c.0 + 1).max().unwrap_or(0);
        ensure!(
            fields.len() >= width,
            "{}: expected {width} columns, found {}; is the file truncated?",
            self.quote(),
            fields.len()
        );
        let mut row = Row::default();
        for &(column, role) in columns {
            let v = match (fields[column], role) {
                // An attribute may be missing.
                ([], role) if !matches!(role, Role::Axis(_)) => Some(0.0),
                (field, _) => number(field, *decimal_comma),
            };
            let bad = || format!("{}: expected a number in column {}", self.quote(), column + 1);
            row.set(role, v.with_context(bad)?);
        }
        self.found += 1;
        let number = self.number;
        self.points.add(row, || format!("line {number}"))
    }
}
