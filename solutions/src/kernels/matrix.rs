//! An operand of a matrix product.

/// Element (row, column) of `data` at `row · row_step + column · column_step`.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub data: &'a [f32],
    pub row_step: usize,
    pub column_step: usize,
}

impl<'a> Matrix<'a> {
    /// Row by row, `width` values each.
    pub fn dense(data: &'a [f32], width: usize) -> Self {
        Self {
            data,
            row_step: width,
            column_step: 1,
        }
    }

    /// The transpose.
    pub fn t(self) -> Self {
        Self {
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    pub fn below(self, row: usize) -> Self {
        Self {
            data: &self.data[row * self.row_step..],
            ..self
        }
    }

    pub fn right_of(self, column: usize) -> Self {
        Self {
            data: &self.data[column * self.column_step..],
            ..self
        }
    }

    /// Whether `data` contains the elements of `rows` and `columns`, of which there is at least one each.
    pub fn contains(&self, rows: usize, columns: usize) -> bool {
        self.data.len() > (rows - 1) * self.row_step + (columns - 1) * self.column_step
    }
}
