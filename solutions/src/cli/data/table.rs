//! Tables for terminals.

/// Rows under a header: the first column to the left, the others to the right.
pub struct Table(Vec<Vec<String>>);

impl Table {
    /// A table with these column titles.
    pub fn new<S: ToString>(titles: impl IntoIterator<Item = S>) -> Self {
        Self(vec![titles.into_iter().map(|t| t.to_string()).collect()])
    }

    /// Adds a row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.0.push(cells.into_iter().map(|c| c.to_string()).collect());
    }

    /// Prints it to standard output.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn print(&self) -> anyhow::Result<()> {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |c: usize| {
            self.0
                .iter()
                .filter_map(|r| r.get(c))
                .map(|s| s.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..columns).map(|c| wide(c).unwrap_or(0)).collect();
        for row in &self.0 {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(c, (cell, &width))| match c {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
            say!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        Ok(())
    }
}
