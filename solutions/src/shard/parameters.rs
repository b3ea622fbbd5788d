//! Stage 3: the parameters of a layer are gathered when they are used, and released afterwards.

use anyhow::{Result, ensure};

use super::{gradients::reduce_gradients, memory::Memory};
use crate::parallel::{Collective, chunk};

// ANCHOR: Sharded
/// A layer's parameters on one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharded {
    /// This rank's chunk.
    pub own: Vec<f32>,
    /// How many parameters the layer has on all ranks together.
    pub length: usize,
}
// ANCHOR_END: Sharded

// ANCHOR: Layer
/// The forward pass of a layer: its index and its parameters.
pub type LayerForward<'a> = dyn FnMut(usize, &[f32]) -> Result<()> + 'a;

/// The backward pass of a layer: its index and its parameters. Returns this rank's gradients of them.
pub type LayerBackward<'a> = dyn FnMut(usize, &[f32]) -> Result<Vec<f32>> + 'a;
// ANCHOR_END: Layer

impl Sharded {
    /// Keeps rank `rank`'s chunk of a layer's parameters.
    pub fn new(whole: &[f32], rank: usize, world_size: usize) -> Self {
        Self {
            own: whole[chunk(whole.len(), rank, world_size)].to_vec(),
            length: whole.len(),
        }
    }
}

/// Runs the forward pass over sharded layers: for each, from the first to the last, gathers its parameters, calls
/// `work(index, parameters)` and releases them. Gathered parameters are in buffers of `memory`, those of one layer at a time.
///
/// # Errors
/// Returns an error if an all-gather fails or `work` does.
pub fn forward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    for (index, layer) in layers.iter().enumerate() {
        let mut whole = memory.buffer(layer.length);
        collective.all_gather(&layer.own, &mut whole)?;
        work(index, &whole)?;
    }
    Ok(())
}

/// Runs the backward pass over sharded layers, from the last to the first: gathers the layer's parameters again, calls
/// `work(index, parameters)`, which returns this rank's gradients of them, and releases them. Returns for each layer, in the
/// order of `layers`, this rank's [`chunk`] of the mean gradients over the ranks.
///
/// # Errors
/// Returns an error if a collective fails, or `work` does or returns another number of gradients than there are parameters.
pub fn backward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    let mut means = vec![Vec::new(); layers.len()];
    for (index, layer) in layers.iter().enumerate().rev() {
        let mut whole = memory.buffer(layer.length);
        collective.all_gather(&layer.own, &mut whole)?;
        let gradients = work(index, &whole)?;
        drop(whole);
        ensure!(
            gradients.len() == layer.length,
            "ZeRO: layer {index} has {} parameters and {} gradients",
            layer.length,
            gradients.len()
        );
        means[index] = reduce_gradients(collective, gradients)?;
    }
    Ok(means)
}
