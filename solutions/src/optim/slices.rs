//! Norms of whole parameters for optimizers that have only slices of them.

use std::sync::Arc;

use crate::kernels::SumOverRanks;

/// What an optimizer of slices must know of the whole parameters, whose other slices are on other ranks.
#[derive(Clone, Debug)]
pub struct Slices {
    /// For each slice, in the order of the optimizer's parameters, the parameter that it is a part of.
    pub of: Vec<Whole>,
    /// Number of whole parameters.
    pub count: usize,
    /// Sums over the ranks. Every rank steps at the same time, also one without slices.
    pub ranks: Arc<dyn SumOverRanks>,
}

/// The parameter that a slice is a part of.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// Which of the whole parameters.
    pub index: usize,
    /// Whether it has more than one axis.
    pub is_matrix: bool,
}

impl Slices {
    /// Returns two norms of the whole parameter of each slice. `squares` has the two sums of squares of each slice.
    ///
    /// # Errors
    /// Those of [`SumOverRanks::sum`].
    pub fn norms(&self, squares: &[[f64; 2]]) -> candle_core::Result<Vec<[f64; 2]>> {
        let mut sums = vec![0.0; 2 * self.count];
        for (whole, squares) in self.of.iter().zip(squares) {
            sums[2 * whole.index] += squares[0];
            sums[2 * whole.index + 1] += squares[1];
        }
        self.ranks.sum(&mut sums)?;
        let norms = |whole: &Whole| [0, 1].map(|which| sums[2 * whole.index + which].sqrt());
        Ok(self.of.iter().map(norms).collect())
    }
}
