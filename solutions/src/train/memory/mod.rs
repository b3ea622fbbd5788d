//! The memory of a training step: predicted by layer, and measured.

mod counted;
mod in_use;
mod layers;

use crate::precision::BytesPerParameter;

pub use counted::{Counted, held, measured};
pub use in_use::{InUse, in_use, reset_peak};
pub use layers::Form;

// ANCHOR: StepSize
/// The sizes that determine the memory of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSize {
    /// Number of parameters.
    pub parameters: u64,
    /// Bytes per parameter.
    pub each: BytesPerParameter,
    /// The layers of the network.
    pub layers: Vec<LayerSize>,
}
// ANCHOR_END: StepSize

// ANCHOR: LayerSize
/// The memory of a layer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayerSize {
    /// Its name in the model.
    pub name: String,
    /// Rows per cloud: its points, or 1 after the max.
    pub rows: u64,
    /// Bytes per row that the forward pass keeps for the backward pass.
    pub kept: u64,
    /// Bytes per row that the backward pass needs temporarily at this layer.
    pub passing: u64,
}
// ANCHOR_END: LayerSize

// ANCHOR: StepBytes
/// Peak memory of a step, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct StepBytes {
    /// The weights, with their fp32 master weights in low-precision formats.
    pub parameters: u64,
    /// The gradients.
    pub gradients: u64,
    /// The optimizer's state.
    pub optimizer: u64,
    /// The activations that the forward pass keeps, of all layers.
    pub activations: u64,
    /// Temporary memory of the backward pass, at the layer where it is largest.
    pub passing: u64,
}
// ANCHOR_END: StepBytes

impl StepBytes {
    /// Returns the total.
    pub fn total(&self) -> u64 {
        self.parameters + self.gradients + self.optimizer + self.activations + self.passing
    }
}

/// Returns the peak memory of a step with `batch` clouds.
pub fn step_bytes(step: &StepSize, batch: u64) -> StepBytes {
    let of = |bytes: u32| step.parameters * u64::from(bytes);
    let layers = || step.layers.iter();
    StepBytes {
        parameters: of(step.each.weight + step.each.master),
        gradients: of(step.each.gradient),
        optimizer: of(step.each.optimizer),
        activations: batch * layers().map(|l| l.rows * l.kept).sum::<u64>(),
        passing: batch * layers().map(|l| l.rows * l.passing).max().unwrap_or(0),
    }
}

/// The smallest batch size: batch norm after the max needs two rows.
const LEAST: u64 = 2;

/// Returns the largest batch size whose step needs at most `budget` bytes, and the memory of that step. Returns `None` if
/// two clouds do not fit (batch norm cannot train on one), or if the memory does not depend on the batch size.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    let fixed = step_bytes(step, 0).total();
    let each = step_bytes(step, 1).total() - fixed;
    let batch = budget.checked_sub(fixed)?.checked_div(each)?;
    (batch >= LEAST).then(|| (batch, step_bytes(step, batch)))
}
