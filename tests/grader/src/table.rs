//! Tables of experiments: text within 80 columns for a reader, JSON of the same rows for a program.

use serde_json::{Map, Value};

use crate::tell::{WIDTH, wrap};

/// Shown for a missing value.
const MISSING: &str = "–";

/// How the numbers of a column are shown.
#[derive(Clone, Debug)]
enum Format {
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
    left: bool,
}

impl Column {
    fn new(heading: impl Into<String>, format: Format) -> Self {
        let heading = heading.into();
        Self {
            heading,
            unit: "",
            format,
            left: false,
        }
    }

    /// Shows `unit` after each number. The JSON key ends in it, because the JSON numbers do not have it.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    fn shown(&self, cell: &Cell) -> String {
        let text = match cell {
            Cell::Missing => return MISSING.into(),
            Cell::Text(text) => return text.clone(),
            Cell::Whole(n) => n.to_string(),
            Cell::Number(x) => self.number(*x),
            Cell::Repeated(values) => self.repeated(values),
        };
        match self.unit {
            "" => text,
            unit => format!("{text} {unit}"),
        }
    }

    fn number(&self, x: f64) -> String {
        match self.format {
            Format::Plain => x.to_string(),
            Format::Fixed(decimals) => format!("{x:.decimals$}"),
            Format::Percent(decimals) => format!("{:.decimals$} %", 100.0 * x),
            Format::Scientific if x == 0.0 => "0".into(),
            Format::Scientific => format!("{x:.1e}"),
        }
    }

    /// Mean and sample standard deviation; for counts, the minimum and the maximum.
    fn repeated(&self, values: &[f64]) -> String {
        let [first, .., _] = values else {
            return values.first().map_or(MISSING.into(), |x| self.number(*x));
        };
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let low_high = values
            .iter()
            .fold((*first, *first), |(l, h), x| (l.min(*x), h.max(*x)));
        match self.format {
            Format::Plain if low_high.0 == low_high.1 => first.to_string(),
            Format::Plain => format!("{}–{}", low_high.0, low_high.1),
            Format::Percent(decimals) => {
                format!("{:.decimals$} ± {:.decimals$} %", 100.0 * mean, 100.0 * deviation)
            }
            _ => format!("{} ± {}", self.number(mean), self.number(deviation)),
        }
    }

    /// `a step` with unit `ms` is `a_step_ms`.
    fn key(&self) -> String {
        let unit = match self.unit {
            "×" => "factor",
            unit => unit,
        };
        let words = format!("{} {unit}", self.heading);
        let words = words.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        words.filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_")
    }
}

/// A column of names, aligned to the left.
pub fn left(heading: impl Into<String>) -> Column {
    Column {
        left: true,
        ..Column::new(heading, Format::Plain)
    }
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
    /// A number that the column formats.
    Number(f64),
    /// The same number from several seeds.
    Repeated(Vec<f64>),
}

impl Cell {
    fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Whole(n) => (*n).into(),
            // JSON has neither NaN nor infinity: they are null.
            Self::Number(x) => (*x).into(),
            Self::Repeated(values) => match values[..] {
                [one] => one.into(),
                _ => values.as_slice().into(),
            },
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
    f64 => Self::Number,
    Vec<f64> => Self::Repeated,
    f32 => |v| Self::Number(v.into()),
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
    extra: Vec<Map<String, Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Adds a row. If it is shorter than the table, its last cells are missing values.
    pub fn row(&mut self, mut cells: Vec<Cell>) -> &mut Self {
        cells.resize(self.columns.len(), Cell::Missing);
        self.rows.push(cells);
        self.extra.push(Map::new());
        self
    }

    /// Adds `value` to the JSON of the last row, and not to the text.
    pub fn only_json(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        if let Some(last) = self.extra.last_mut() {
            last.insert(key.into(), value.into());
        }
        self
    }

    /// The rows as a list of objects. Their keys are the headings, with `_` between the words.
    pub fn json(&self) -> Value {
        let object = |(row, extra): (&Vec<Cell>, &Map<String, Value>)| {
            let own = self.columns.iter().zip(row);
            let own = own.map(|(column, cell)| (column.key(), cell.json()));
            Value::Object(own.chain(extra.clone()).collect())
        };
        self.rows.iter().zip(&self.extra).map(object).collect()
    }

    /// Headings over rows, each column as wide as its widest cell. A last column that is aligned to the left is wrapped
    /// if the line would be longer than 80 columns.
    pub fn text(&self) -> String {
        let shown = |row: &Vec<Cell>| -> Vec<String> {
            let cells = self.columns.iter().zip(row);
            cells.map(|(column, cell)| column.shown(cell)).collect()
        };
        let mut lines: Vec<Vec<String>> = vec![self.columns.iter().map(|c| c.heading.clone()).collect()];
        lines.extend(self.rows.iter().map(shown));
        let wide = |text: &String| text.chars().count();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|i| lines.iter().map(|line| wide(&line[i])).max().unwrap_or(0))
            .collect();
        let total = |gap: usize| widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
        let gap = if total(2) <= WIDTH { 2 } else { 1 };
        let last = widths.len().saturating_sub(1);
        let before = total(gap) - widths.last().copied().unwrap_or(0);
        let mut out = String::new();
        for line in &lines {
            let mut start = String::new();
            for (i, cell) in line.iter().enumerate() {
                if i > 0 {
                    start.push_str(&" ".repeat(gap));
                }
                let pad = " ".repeat(widths[i] - wide(cell));
                match (self.columns[i].left, i == last) {
                    (true, true) => {
                        let parts = wrap(cell, WIDTH.saturating_sub(before).max(8));
                        start.push_str(&parts.join(&format!("\n{}", " ".repeat(before))));
                    }
                    (true, false) => start.push_str(&format!("{cell}{pad}")),
                    (false, _) => start.push_str(&format!("{pad}{cell}")),
                }
            }
            out.push_str(start.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_numbers_have_a_mean_and_a_spread() {
        let mut table = Table::new([
            left(""),
            percent("accuracy", 1),
            fixed("loss", 2),
            count("skipped"),
        ]);
        table.row(cells![
            "five",
            vec![0.7, 0.8, 0.75],
            vec![1.0, 2.0],
            vec![2.0, 4.0, 3.0]
        ]);
        table.row(cells!["one", vec![0.7], vec![1.0], vec![2.0]]);
        let text = table.text();
        for shown in ["75.0 ± 5.0 %", "1.50 ± 0.71", "2–4", "70.0 %", "1.00"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(table.json()[1]["accuracy"], 0.7);
    }

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
        table.only_json("losses", vec![1.0, 0.5]);
        table
    }

    #[test]
    fn columns_are_aligned_and_have_their_units() {
        assert_eq!(
            trainings().text(),
            "trained in    accuracy    a step  skipped  off by\n\
             fp32            67.6 %  12.35 ms        –       0\n\
             fp16, scaled     NaN %   1.00 ms        3  1.5e-4\n"
        );
    }

    #[test]
    fn json_has_the_same_rows_with_the_unit_in_the_key() {
        let json = trainings().json();
        assert_eq!(json[0]["a_step_ms"], 12.345);
        assert_eq!(json[0]["skipped"], Value::Null);
        assert_eq!(json[1]["accuracy"], Value::Null, "NaN");
        assert_eq!(json[1]["losses"][1], 0.5);
    }

    #[test]
    fn a_long_last_column_is_wrapped_within_eighty_columns() {
        let mut table = Table::new([left("name"), count("steps"), left("cure")]);
        table.row(cells![
            "launch bound",
            24usize,
            "one launch for the whole update ".repeat(6)
        ]);
        let text = table.text();
        assert!(text.lines().count() > 3, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn powers_of_two_have_keys_of_their_own() {
        let keys = [count("2^-8"), count("2^8")].map(|c| c.key());
        assert_eq!(keys, ["2_-8", "2_8"]);
    }
}
