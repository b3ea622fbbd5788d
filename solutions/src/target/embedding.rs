//! An embedding: a trained vector for each category, looked up by its id.

use candle_core::{Result, Tensor, bail};

// ANCHOR: SparseGradient
/// The gradient of a table: the gradients of the rows that a batch looked up. All other rows have gradient 0 and are not
/// stored.
#[derive(Clone, Debug)]
pub struct SparseGradient {
    /// The rows of the table that were looked up, ascending, each once.
    pub rows: Vec<u32>,
    /// Their gradients, `[rows, width]`.
    pub values: Tensor,
}
// ANCHOR_END: SparseGradient

impl SparseGradient {
    /// The gradient of all `categories` rows, `[categories, width]`, for optimizers that require every row.
    ///
    /// # Errors
    /// Returns an error if a row is not less than `categories`.
    pub fn dense(&self, categories: usize) -> Result<Tensor> {
        let values = &self.values;
        let zeros = Tensor::zeros((categories, values.dim(1)?), values.dtype(), values.device())?;
        if self.rows.is_empty() {
            return Ok(zeros);
        }
        zeros.index_add(&Tensor::new(self.rows.as_slice(), values.device())?, values, 0)
    }
}

/// Looks up the row of each of `ids` in `table` `[categories, width]`. Returns `[ids, width]`, on the table's device and
/// with its dtype, connected to the table for the backward pass.
///
/// # Errors
/// Returns an error if an id is not less than the number of categories, or if `table` has another shape.
pub fn embed(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    let (categories, width) = table.dims2()?;
    // On a GPU, a bad id fails an assertion in the kernel, with a message that does not name it.
    if let Some(at) = ids.iter().position(|&id| id as usize >= categories) {
        bail!(
            "embed: id {} at position {at} is not a category: the table has {categories} rows",
            ids[at]
        );
    }
    if ids.is_empty() {
        return Tensor::zeros((0, width), table.dtype(), table.device());
    }
    table
        .contiguous()?
        .index_select(&Tensor::new(ids, table.device())?, 0)
}

/// The gradient of the table of [`embed`], given `grad` `[ids, width]`, the gradient of its result. The gradient of a row
/// is the sum over all places where its id occurs.
///
/// # Errors
/// Returns an error if `grad` does not have a row for each id.
pub fn embedding_gradient(ids: &[u32], grad: &Tensor) -> Result<SparseGradient> {
    let (count, width) = grad.dims2()?;
    if count != ids.len() {
        bail!(
            "embedding_gradient: {} ids, but gradients of {count} rows",
            ids.len()
        );
    }
    let mut rows = ids.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let zeros = Tensor::zeros((rows.len(), width), grad.dtype(), grad.device())?;
    if rows.is_empty() {
        return Ok(SparseGradient { rows, values: zeros });
    }
    // Each id is in `rows`, so the number of smaller rows is its place.
    let places: Vec<u32> = ids
        .iter()
        .map(|id| rows.partition_point(|row| row < id) as u32)
        .collect();
    let places = Tensor::new(places, grad.device())?;
    let values = zeros.index_add(&places, &grad.detach().contiguous()?, 0)?;
    Ok(SparseGradient { rows, values })
}
