//! Reading lines of numbers.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    super::{
        frame::{Invalid, Points},
        names::{Role, Row},
        source::{PIECE, Source},
    },
    layout::{Layout, bad_column, count_line, is_comment, names_axes},
};
use crate::Cloud;

/// The longest line that is read, bytes.
const LONGEST: u64 = 64 << 10;
/// The most lines before the numbers.
const MOST_HEADERS: usize = 32;

/// Reads the lines of a text file.
pub struct Lines {
    from: BufReader<File>,
    line: Vec<u8>,
    number: u64,
    layout: Layout,
    points: Points,
    /// Whether `line` has the first line of numbers, which is not used yet.
    waiting: bool,
    /// The number of points in count lines, and the number of points found.
    announced: u64,
    found: u64,
}

/// Opens a text file.
pub fn open(file: File, invalid: Invalid) -> Result<Box<dyn Source>> {
    let mut lines = Lines {
        from: BufReader::with_capacity(1 << 18, file),
        line: Vec::new(),
        number: 0,
        layout: Layout::new(b"0 0 0", None).context("no layout")?,
        points: Points::new(invalid),
        waiting: true,
        announced: 0,
        found: 0,
    };
    lines.find_layout()?;
    Ok(Box::new(lines))
}

impl Lines {
    /// Reads up to the first line of numbers, and finds the layout.
    fn find_layout(&mut self) -> Result<()> {
        let mut header: Option<Vec<u8>> = None;
        let mut first: Option<String> = None;
        let mut headers = 0;
        while self.next_line()? {
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
                    !header.as_deref().is_some_and(names_axes) || names_axes(line),
                    "{}: expected numbers in the columns that the header calls x, y and z",
                    self.quote()
                );
                // Two numbers of three: a point with a bad value, not the names of columns.
                if let Some(column) = bad_column(line) {
                    bail!("{}: expected a number in column {column}", self.quote());
                }
                header = Some(line.clone());
                headers += 1;
                first.get_or_insert_with(|| self.quote());
                if headers > MOST_HEADERS {
                    break;
                }
            }
        }
        match first {
            Some(first) => {
                bail!("expected lines of three numbers or more, found {first} and no such line after it")
            }
            None => bail!(
                "expected lines of three numbers or more, found none in {} lines",
                self.number
            ),
        }
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
            let end = self.line.trim_ascii_end().len();
            self.line.truncate(end);
            let blank = end - self.line.trim_ascii_start().len();
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
        let fields = self.layout.fields(&self.line);
        if fields.len() == 1
            && let Some(n) = count_line(&self.line)
        {
            // A PTS file may have several scans, each with its own count.
            self.announced = self.announced.saturating_add(n);
            return Ok(());
        }
        ensure!(
            fields.len() >= self.layout.width,
            "{}: expected {} columns, found {}; is the file truncated?",
            self.quote(),
            self.layout.width,
            fields.len()
        );
        let bad = |column: usize| format!("{}: expected a number in column {}", self.quote(), column + 1);
        let mut row = Row::default();
        for (a, &column) in self.layout.axes.iter().enumerate() {
            let v = self.layout.number(fields[column]);
            row.set(Role::Axis(a), v.with_context(|| bad(column))?);
        }
        for &(column, role) in &self.layout.others {
            // An attribute may be missing.
            let v = match fields[column] {
                [] => Some(0.0),
                field => self.layout.number(field),
            };
            row.set(role, v.with_context(|| bad(column))?);
        }
        self.found += 1;
        let number = self.number;
        self.points.add(row, || format!("line {number}"))
    }
}

impl Source for Lines {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let before = self.found;
        while self.found - before < PIECE as u64 {
            if !std::mem::take(&mut self.waiting) && !self.next_line()? {
                ensure!(
                    self.found >= self.announced,
                    "line {}: the file ends after {} points, its count line says {}: it is truncated, copy or download it again",
                    self.number,
                    self.found,
                    self.announced
                );
                break;
            }
            if !is_comment(&self.line) {
                self.take_point()?;
            }
        }
        Ok((self.found > before).then(|| self.points.take()))
    }

    fn count(&self) -> Option<u64> {
        (self.announced > 0).then_some(self.announced)
    }

    fn dropped(&self) -> u64 {
        self.points.dropped
    }
}
