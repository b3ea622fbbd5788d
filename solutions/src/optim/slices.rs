//! Norms of whole parameters for optimizers that have only slices of them.

use std::sync::Arc;

use crate::kernels::SumOverRanks;

/// What an optimizer of slices must know of the whole parameters, whose other slices are on other ranks.
#[derive(Clone, Debug)]
pub struct Slices {
    /// For each slice, in the order of the optimizer's parameters, the index of its whole parameter, and whether that has more than
    /// one axis.
    pub of: Vec<(usize, bool)>,
    /// Number of whole parameters.
    pub whole: usize,
    /// Sums over the ranks. Every rank steps at the same time, also one without slices.
    pub ranks: Arc<dyn SumOverRanks>,
}

impl Slices {
    /// Returns two norms of the whole parameter of each slice. `squares` has the two sums of squares of each slice.
    ///
    /// # Errors
    /// Those of [`SumOverRanks::sum`].
    pub fn norms(&self, squares: &[[f64; 2]]) -> candle_core::Result<Vec<[f64; 2]>> {
        let mut sums = vec![0.0; 2 * self.whole];
        for (&(whole, _), squares) in self.of.iter().zip(squares) {
            sums[2 * whole] += squares[0];
            sums[2 * whole + 1] += squares[1];
        }
        self.ranks.sum(&mut sums)?;
        let norms = |&(whole, _): &(usize, bool)| [sums[2 * whole].sqrt(), sums[2 * whole + 1].sqrt()];
        Ok(self.of.iter().map(norms).collect())
    }
}
