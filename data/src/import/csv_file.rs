//! A table with column names.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, ensure};
use csv::{Position, Reader, ReaderBuilder, StringRecord, Trim};

/// The text of a table, and the names of its columns.
pub struct CsvFile {
    pub path: PathBuf,
    pub header: StringRecord,
    text: String,
    delimiter: u8,
}

impl CsvFile {
    /// Reads the table at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, is not UTF-8 (names the line), or has no column names.
    pub fn open(path: &Path) -> Result<Self> {
        let at = path.display();
        let bytes = fs::read(path).with_context(|| at.to_string())?;
        refuse_utf16(path, &bytes)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            anyhow!("{at} line {line}: a character that is not UTF-8, as in Latin-1: save the table as UTF-8")
        })?;
        Self::parse(path, &text)
    }

    /// The table at `path` up to the end of its first line. Only UTF-16 is refused.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, is in UTF-16, or has no column names.
    pub fn head(path: &Path) -> Result<Self> {
        let mut line = Vec::new();
        BufReader::new(File::open(path)?.take(1 << 16)).read_until(b'\n', &mut line)?;
        refuse_utf16(path, &line)?;
        Self::parse(path, &String::from_utf8_lossy(&line))
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let text = text.trim_start_matches('\u{feff}').to_owned();
        // The most frequent separator of the first line.
        let line = text.lines().next().unwrap_or_default();
        let count = |d: &u8| line.bytes().filter(|b| b == d).count();
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count);
        let mut table = Self {
            path: path.to_owned(),
            header: StringRecord::new(),
            text,
            delimiter: delimiter.unwrap_or(b','),
        };
        let (at, header) = (path.display(), table.reader().headers().cloned());
        table.header = header.with_context(|| at.to_string())?;
        ensure!(
            table.header.iter().any(|name| !name.is_empty()),
            "{at} line 1: expected the names of columns, found none"
        );
        Ok(table)
    }

    fn reader(&self) -> Reader<&[u8]> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(self.delimiter).trim(Trim::All);
        builder.from_reader(self.text.as_bytes())
    }

    /// The index of the first column that is called like one of `names`, in any case.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        let position = |name: &&str| self.header.iter().position(|h| h.eq_ignore_ascii_case(name));
        names.iter().find_map(position)
    }

    /// The index of the first column that is called like one of `names`.
    ///
    /// # Errors
    /// Returns an error with the columns that there are, and `advice`, if there is none.
    pub fn need(&self, names: &[&str], advice: &str) -> Result<usize> {
        self.column(names).with_context(|| {
            let there = Vec::from_iter(&self.header).join(", ");
            let (at, names) = (self.path.display(), names.join(", "));
            format!("{at}: no column is called {names}: there are {there}{advice}")
        })
    }

    /// Calls `each` with the place (file and line), the line and the values of each row.
    ///
    /// # Errors
    /// Returns an error for a row with too few or too many values, and the error of `each`.
    pub fn rows(&self, mut each: impl FnMut(&str, u64, &StringRecord) -> Result<()>) -> Result<()> {
        let at = self.path.display();
        for row in self.reader().records() {
            let row = row.with_context(|| at.to_string())?;
            let line = row.position().map_or(0, Position::line);
            each(&format!("{at} line {line}"), line, &row)?;
        }
        Ok(())
    }
}

/// Refuses text in UTF-16, which spreadsheets write.
fn refuse_utf16(path: &Path, bytes: &[u8]) -> Result<()> {
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let at = path.display();
    ensure!(!is_utf16, "{at}: text in UTF-16: save it as UTF-8");
    Ok(())
}
