use std::collections::HashMap;

use anyhow::Result;
use candle_core::Tensor;

// ANCHOR: Optimizer
/// Updates parameters by their gradients.
pub trait Optimizer: Send {
    /// Takes one step with learning rate `lr`. `grads` are in the order of the parameters.
    ///
    /// # Errors
    /// Returns an error that names the parameter if the shape or dtype of its gradient is different. In this case, no
    /// parameter has changed.
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()>;

    /// A copy of the state as named tensors: `step` (i64), and for each parameter NAME its moments, such as
    /// `exp_avg.NAME`, `exp_avg_sq.NAME` or `momentum_buffer.NAME`. A training run that loads it continues
    /// bit-identically.
    ///
    /// # Errors
    /// Returns an error if a tensor cannot be copied, for example because the device is out of memory.
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Loads a state that [`Self::state`] returned.
    ///
    /// # Errors
    /// Returns an error if a tensor is missing, unknown, or of another shape or dtype. In this case, the optimizer has
    /// not changed.
    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()>;
}
// ANCHOR_END: Optimizer
