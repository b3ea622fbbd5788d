//! Stage 2: each rank keeps the mean gradients of its own part.

use anyhow::Result;

use crate::parallel::{Collective, chunk};

/// Returns this rank's [`chunk`] of the mean gradients over all ranks. `gradients` are this rank's, of all parameters; they are
/// freed.
///
/// One reduce-scatter sends half of what an all-reduce does.
///
/// # Errors
/// Returns an error if the reduce-scatter fails.
pub fn reduce_gradients(collective: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    let own = chunk(gradients.len(), collective.rank(), collective.world_size());
    let mut mean = vec![0.0; own.len()];
    collective.reduce_scatter(&gradients, &mut mean)?;
    let share = 1.0 / collective.world_size() as f32;
    mean.iter_mut().for_each(|g| *g *= share);
    Ok(mean)
}
