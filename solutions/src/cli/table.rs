//! Tables and objects as text for terminals, or as JSON.

use anyhow::{Context, Result};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::Value;

/// Rows under a header: the first column to the left, the others to the right.
pub struct Table(Vec<Vec<String>>);

impl Table {
    /// A table with these column titles.
    pub fn new<S: ToString>(first: &str, titles: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self(Vec::new());
        table.row(first, titles);
        table
    }

    /// Adds a row: its name, and its other cells.
    pub fn row<S: ToString>(&mut self, name: &str, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|c| c.to_string());
        self.0
            .push(std::iter::once(name.to_owned()).chain(cells).collect());
    }

    /// Prints it to standard output.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn print(&self) -> Result<()> {
        for line in self.lines() {
            say!("{line}");
        }
        Ok(())
    }

    fn lines(&self) -> Vec<String> {
        let width = |c: usize| {
            self.0
                .iter()
                .filter_map(|r| r.get(c))
                .map(|s| s.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..).map_while(width).collect();
        let line = |row: &Vec<String>| {
            let cell = |(c, (cell, &width)): (usize, (&String, &usize))| match c {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            };
            let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
            cells.join("  ").trim_end().to_owned()
        };
        self.0.iter().map(line).collect()
    }
}

/// Prints an object as JSON, or as [`text`].
///
/// # Errors
/// Returns an error if the value is no object, or if standard output is closed.
pub fn show(value: &impl Serialize, json: bool) -> Result<()> {
    let value = serde_json::to_value(value)?;
    match json {
        true => say!("{value:#}"),
        false => say!("{}", text(&value)?),
    }
    Ok(())
}

/// An object as text, with a line for each of its fields and a table for each list of objects.
///
/// # Errors
/// Returns an error if the value is no object.
pub fn text(value: &Value) -> Result<String> {
    let fields = value.as_object().context("not an object")?;
    let width = fields.keys().map(String::len).max().unwrap_or(0).max(16);
    let mut lines = Vec::new();
    for (name, value) in fields {
        let name = name.replace('_', " ");
        match value {
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            Value::Array(rows) if rows.is_empty() => {}
            Value::Array(rows) if rows[0].is_object() => {
                lines.push(name);
                lines.extend(of_objects(rows).lines());
            }
            value => lines.push(format!("{name:<width$} {}", cell(value))),
        }
    }
    Ok(lines.join("\n"))
}

/// A table of objects with the same fields, indented.
fn of_objects(rows: &[Value]) -> Table {
    let objects = || rows.iter().filter_map(Value::as_object);
    let titles = objects().take(1).flat_map(|first| first.keys());
    // A title such as learning-rate has two lines, because its values are short.
    let lines = titles.map(|title| match title.rsplit_once('-') {
        Some((above, below)) => (format!("{above}-"), below.to_owned()),
        None => (String::new(), title.replace('_', " ")),
    });
    let (above, below): (Vec<String>, Vec<String>) = lines.unzip();
    let mut table = Table(vec![above, below]);
    table.0.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    table
        .0
        .extend(objects().map(|object| object.values().map(cell).collect()));
    for row in &mut table.0 {
        row[0].insert_str(0, "  ");
    }
    table
}

/// Longer lists of numbers are in JSON only.
const MOST_NUMBERS: usize = 5;

/// A value as text; a list in one line.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Number(n) => match n.as_f64().unwrap_or(0.0) {
            whole if (0.0..1e15).contains(&whole) && whole.fract() == 0.0 => {
                HumanCount(whole as u64).to_string()
            }
            odd if !(0.001..1e15).contains(&odd.abs()) => format!("{odd:.1e}"),
            other => format!("{other:.3}"),
        },
        Value::Array(list) if list.len() > MOST_NUMBERS && list[0].is_number() => {
            format!("{} values", list.len())
        }
        Value::Array(list) if list.iter().any(Value::is_array) => {
            list.iter().map(cell).collect::<Vec<_>>().join(" to ")
        }
        Value::Array(list) => list.iter().map(cell).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{} {}", name.replace('_', " "), cell(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_short_texts() {
        let value = json!([4800, 0.5, 5e-4, 1e30, "a", true, null, [[1.0, 2], [3, 4]], {"least_points": 7}]);
        let cells: Vec<String> = value.as_array().unwrap().iter().map(cell).collect();
        let expected = "4,800|0.500|5.0e-4|1.0e30|a|yes|–|1, 2 to 3, 4|least points 7";
        assert_eq!(cells.join("|"), expected);
    }
}
