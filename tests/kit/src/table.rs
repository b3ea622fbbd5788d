//! Tables of experiments: text within 80 columns for a reader, JSON of the same rows for a program.

use std::iter;

pub use serde_json::{Value, json};

use grader::tell::WIDTH;

/// How the numbers of a column are shown.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// Aligned to the left, unlike the others.
    Left,
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

fn column(heading: impl Into<String>, format: Format) -> Column {
    let heading = heading.into();
    Column {
        heading,
        unit: "",
        format,
    }
}

/// A column of names, aligned to the left.
pub fn left(heading: impl Into<String>) -> Column {
    column(heading, Format::Left)
}

/// A column of whole numbers, or of numbers as Rust prints them.
pub fn count(heading: impl Into<String>) -> Column {
    column(heading, Format::Plain)
}

/// A column of numbers with `decimals` digits after the point.
pub fn fixed(heading: impl Into<String>, decimals: usize) -> Column {
    column(heading, Format::Fixed(decimals))
}

/// A column of fractions (0 to 1), shown in per cent.
pub fn percent(heading: impl Into<String>, decimals: usize) -> Column {
    column(heading, Format::Percent(decimals))
}

/// A column of numbers such as `1.5e-3`; 0 is shown as `0`.
pub fn scientific(heading: impl Into<String>) -> Column {
    column(heading, Format::Scientific)
}

impl Column {
    /// Shows `unit` after each number. The JSON key ends in it, because the JSON numbers do not have it.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// `–` for no value, a text as it is, a number in the column's format, and numbers from several seeds together.
    fn shown(&self, cell: &Value) -> String {
        let text = match cell {
            Value::Null => return "–".into(),
            Value::String(text) => return text.clone(),
            Value::Array(numbers) => self.numbers(&numbers.iter().map(float).collect::<Vec<_>>()),
            Value::Number(whole) if !whole.is_f64() => whole.to_string(),
            number => self.number(float(number)),
        };
        format!("{text} {}", self.unit).trim_end().to_owned()
    }

    fn number(&self, x: f64) -> String {
        match self.format {
            Format::Left | Format::Plain => x.to_string(),
            Format::Fixed(decimals) => format!("{x:.decimals$}"),
            Format::Percent(decimals) => format!("{:.decimals$} %", 100.0 * x),
            Format::Scientific if x == 0.0 => "0".into(),
            Format::Scientific => format!("{x:.1e}"),
        }
    }

    /// Mean and sample standard deviation, or of counts the minimum and the maximum.
    fn numbers(&self, values: &[f64]) -> String {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self.format {
            _ if values.len() == 1 => self.number(mean),
            Format::Plain if low == high => low.to_string(),
            Format::Plain => format!("{low}–{high}"),
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

/// JSON has neither NaN nor infinity: they are null.
fn float(number: &Value) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Columns and rows.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let columns = columns.into_iter().collect();
        let rows = Vec::new();
        Self { columns, rows }
    }

    /// Adds a row of texts, numbers, lists of numbers (one for each seed) and nulls: `json!([name, 3, [0.5, 0.7]])`. If it is
    /// shorter than the table, its last cells are null.
    pub fn row(&mut self, cells: impl Into<Value>) {
        let cells = cells.into();
        let cell = |i| cells.get(i).cloned().unwrap_or_default();
        self.rows.push((0..self.columns.len()).map(cell).collect());
    }

    /// The rows as a list of objects. Their keys are the headings, with `_` between the words.
    pub fn json(&self) -> Value {
        let value = |cell: &Value| match cell {
            Value::Array(list) if list.len() == 1 => list[0].clone(),
            _ => cell.clone(),
        };
        let object = |cells: &Vec<Value>| {
            let cells = self.columns.iter().zip(cells);
            Value::Object(cells.map(|(column, cell)| (column.key(), value(cell))).collect())
        };
        self.rows.iter().map(object).collect()
    }

    /// Headings over rows, each column as wide as its widest cell; narrower gaps if a line would not fit.
    pub fn text(&self) -> String {
        let text = self.aligned("  ");
        let fits = text.lines().all(|line| line.chars().count() <= WIDTH);
        if fits { text } else { self.aligned(" ") }
    }

    fn aligned(&self, gap: &str) -> String {
        let mut lines = vec![String::new(); 1 + self.rows.len()];
        for (i, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|cells| column.shown(&cells[i]));
            let cells: Vec<String> = iter::once(column.heading.clone()).chain(cells).collect();
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            for (line, cell) in lines.iter_mut().zip(cells) {
                *line += &match column.format {
                    Format::Left => format!("{cell:<width$}{gap}"),
                    _ => format!("{cell:>width$}{gap}"),
                };
            }
        }
        lines
            .iter()
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_have_the_same_rows() {
        let mut table = Table::new([
            left("trained in"),
            percent("accuracy", 1),
            fixed("a step", 2).unit("ms"),
            count("skipped"),
            scientific("off by"),
        ]);
        table.row(json!(["fp32", 0.676, 12.345, null, 0.0]));
        table.row(json!(["fp16, scaled", [f64::NAN], 1.0, 3, 1.5e-4]));
        table.row(json!([
            "thrice",
            [0.7, 0.8, 0.75],
            [1.0, 2.0, 3.0],
            [2.0, 4.0, 3.0]
        ]));
        table.row(json!(["once", [0.7], [1.0], [2.0]]));
        assert_eq!(
            table.text(),
            "trained in        accuracy          a step  skipped  off by\n\
             fp32                67.6 %        12.35 ms        –       0\n\
             fp16, scaled         NaN %         1.00 ms        3  1.5e-4\n\
             thrice        75.0 ± 5.0 %  2.00 ± 1.00 ms      2–4       –\n\
             once                70.0 %         1.00 ms        2       –\n"
        );
        let rows = table.json();
        let fp32 = json!({ "trained_in": "fp32", "accuracy": 0.676, "a_step_ms": 12.345, "skipped": null, "off_by": 0.0 });
        assert_eq!(rows[0], fp32);
        assert_eq!(
            [&rows[1]["accuracy"], &rows[3]["accuracy"]],
            [&Value::Null, &json!(0.7)]
        );
        assert_eq!([count("2^-8"), count("2^8")].map(|c| c.key()), ["2_-8", "2_8"]);
    }
}
