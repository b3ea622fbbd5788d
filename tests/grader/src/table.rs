//! Tables of experiments: text within 80 columns for a reader, JSON of the same rows for a program.

use serde_json::Value;

use crate::tell::{WIDTH, wrap};

/// How the numbers of a column are shown.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// Aligned to the left, unlike the others.
    Name,
    Plain,
    Fixed(usize),
    Percent(usize),
    Scientific,
}

/// One column: its heading, and how its cells are shown.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    unit: &'static str,
    format: Format,
}

impl Column {
    fn new(heading: impl Into<String>, format: Format) -> Self {
        Self {
            heading: heading.into(),
            unit: "",
            format,
        }
    }

    /// Shows `unit` after each number. The JSON key ends in it, because the JSON numbers do not have it.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    fn shown(&self, cell: &Cell) -> String {
        let text = match cell {
            Cell::Missing => return "–".into(),
            Cell::Text(text) => return text.clone(),
            Cell::Whole(n) => n.to_string(),
            Cell::Numbers(values) => self.numbers(values),
        };
        format!("{text} {}", self.unit).trim_end().to_owned()
    }

    fn number(&self, x: f64) -> String {
        match self.format {
            Format::Name | Format::Plain => x.to_string(),
            Format::Fixed(decimals) => format!("{x:.decimals$}"),
            Format::Percent(decimals) => format!("{:.decimals$} %", 100.0 * x),
            Format::Scientific if x == 0.0 => "0".into(),
            Format::Scientific => format!("{x:.1e}"),
        }
    }

    /// A number; of several, mean and sample standard deviation, or of counts the minimum and the maximum.
    fn numbers(&self, values: &[f64]) -> String {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match (self.format, values) {
            (_, []) => "–".into(),
            (_, [one]) => self.number(*one),
            (Format::Plain, _) if low == high => low.to_string(),
            (Format::Plain, _) => format!("{low}–{high}"),
            _ => format!("{} ± {}", self.number(mean), self.number(deviation)).replacen(" % ±", " ±", 1),
        }
    }

    /// `a step` with unit `ms` is `a_step_ms`.
    fn key(&self) -> String {
        let words = format!("{} {}", self.heading, self.unit.replace('×', "factor"));
        let words = words.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        words.filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_")
    }
}

/// A column of names, aligned to the left.
pub fn left(heading: impl Into<String>) -> Column {
    Column::new(heading, Format::Name)
}

/// A column of whole numbers, or of numbers as Rust prints them.
pub fn count(heading: impl Into<String>) -> Column {
    Column::new(heading, Format::Plain)
}

/// A column of numbers with `decimals` digits after the point.
pub fn fixed(heading: impl Into<String>, decimals: usize) -> Column {
    Column::new(heading, Format::Fixed(decimals))
}

/// A column of fractions (0 to 1), shown in per cent.
pub fn percent(heading: impl Into<String>, decimals: usize) -> Column {
    Column::new(heading, Format::Percent(decimals))
}

/// A column of numbers such as `1.5e-3`; 0 is shown as `0`.
pub fn scientific(heading: impl Into<String>) -> Column {
    Column::new(heading, Format::Scientific)
}

/// The value of one column in one row.
#[derive(Clone, Debug)]
pub enum Cell {
    /// No value.
    Missing,
    /// A word.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number that the column formats, from one seed or several.
    Numbers(Vec<f64>),
}

impl Cell {
    fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Whole(n) => (*n).into(),
            // JSON has neither NaN nor infinity: they are null.
            Self::Numbers(values) if values.len() == 1 => values[0].into(),
            Self::Numbers(values) => values.as_slice().into(),
        }
    }
}

macro_rules! cells_from {
    ($($from:ty => $to:expr),+ $(,)?) => {
        $(impl From<$from> for Cell {
            fn from(value: $from) -> Self {
                let to: fn($from) -> Cell = $to;
                to(value)
            }
        })+
    };
}

cells_from! {
    &str => |v| Self::Text(v.into()),
    String => Self::Text,
    &String => |v| Self::Text(v.clone()),
    char => |v| Self::Text(v.into()),
    usize => |v| Self::Whole(v as i64),
    u64 => |v| Self::Whole(v as i64),
    u32 => |v| Self::Whole(v.into()),
    i32 => |v| Self::Whole(v.into()),
    f64 => |v| Self::Numbers(vec![v]),
    f32 => |v| Self::Numbers(vec![v.into()]),
    Vec<f64> => Self::Numbers,
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// The cells of a row, each turned into a [`Cell`]: `cells![name, seconds, Some(3)]`.
#[macro_export]
macro_rules! cells {
    ($($cell:expr),+ $(,)?) => {
        vec![$($crate::table::Cell::from($cell)),+]
    };
}

/// Columns and rows.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let columns = columns.into_iter().collect();
        let rows = Vec::new();
        Self { columns, rows }
    }

    /// Adds a row. If it is shorter than the table, its last cells are missing values.
    pub fn row(&mut self, mut cells: Vec<Cell>) -> &mut Self {
        cells.resize(self.columns.len(), Cell::Missing);
        self.rows.push(cells);
        self
    }

    /// The rows as a list of objects. Their keys are the headings, with `_` between the words.
    pub fn json(&self) -> Value {
        let object = |cells: &Vec<Cell>| {
            let cells = self.columns.iter().zip(cells);
            Value::Object(cells.map(|(column, cell)| (column.key(), cell.json())).collect())
        };
        self.rows.iter().map(object).collect()
    }

    /// Headings over rows, each column as wide as its widest cell. A last column that is aligned to the left is wrapped
    /// if the line would be longer than 80 columns.
    pub fn text(&self) -> String {
        let mut columns = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|cells| column.shown(&cells[i]));
            let cells: Vec<String> = [column.heading.clone()].into_iter().chain(cells).collect();
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            columns.push((column.format, width, cells));
        }
        let widths: Vec<usize> = columns.iter().map(|(_, width, _)| *width).collect();
        let last = widths.len().saturating_sub(1);
        let before = |gap: usize| widths[..last].iter().map(|width| width + gap).sum::<usize>();
        let gap = 1 + usize::from(before(2) + widths.last().unwrap_or(&0) <= WIDTH);
        let rest = WIDTH.saturating_sub(before(gap)).max(8);
        let mut out = String::new();
        for line in 0..=self.rows.len() {
            let mut text = String::new();
            for (i, (format, width, cells)) in columns.iter().enumerate() {
                let cell = &cells[line];
                match format {
                    Format::Name if i == last => {
                        let indent = format!("\n{}", " ".repeat(before(gap)));
                        text += &wrap(cell, rest).join(&indent);
                    }
                    Format::Name => text += &format!("{cell:<width$}{:gap$}", ""),
                    _ => text += &format!("{cell:>width$}{:gap$}", ""),
                }
            }
            out += text.trim_end();
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trainings() -> Table {
        let mut table = Table::new([
            left("trained in"),
            percent("accuracy", 1),
            fixed("a step", 2).unit("ms"),
            count("skipped"),
            scientific("off by"),
        ]);
        table.row(cells!["fp32", 0.676, 12.345, Option::<usize>::None, 0.0]);
        table.row(cells!["fp16, scaled", f64::NAN, 1.0, 3usize, 1.5e-4]);
        table.row(cells![
            "thrice",
            vec![0.7, 0.8, 0.75],
            vec![1.0, 2.0, 3.0],
            vec![2.0, 4.0, 3.0]
        ]);
        table.row(cells!["once", vec![0.7], vec![1.0], vec![2.0]]);
        table
    }

    #[test]
    fn columns_are_aligned_and_have_their_units() {
        assert_eq!(
            trainings().text(),
            "trained in        accuracy          a step  skipped  off by\n\
             fp32                67.6 %        12.35 ms        –       0\n\
             fp16, scaled         NaN %         1.00 ms        3  1.5e-4\n\
             thrice        75.0 ± 5.0 %  2.00 ± 1.00 ms      2–4       –\n\
             once                70.0 %         1.00 ms        2       –\n"
        );
    }

    #[test]
    fn json_has_the_same_rows_with_the_unit_in_the_key() {
        let json = trainings().json();
        assert_eq!(json[0]["a_step_ms"], 12.345);
        assert_eq!(json[0]["skipped"], Value::Null);
        assert_eq!(json[1]["accuracy"], Value::Null, "NaN");
        assert_eq!(json[3]["accuracy"], 0.7);
        assert_eq!([count("2^-8"), count("2^8")].map(|c| c.key()), ["2_-8", "2_8"]);
    }

    #[test]
    fn a_long_last_column_is_wrapped_within_eighty_columns() {
        let mut table = Table::new([left("name"), count("steps"), left("cure")]);
        let cure = "one launch for the whole update ".repeat(6);
        table.row(cells!["launch bound", 24usize, cure]);
        let text = table.text();
        assert!(text.lines().count() > 3, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
