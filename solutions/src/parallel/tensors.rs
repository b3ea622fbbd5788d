//! Sums of tensors that stay on their device, which start without waiting.

use anyhow::Result;
use candle_core::Tensor;

/// A sum that has started.
pub trait Started: Send {
    /// Waits for its end, and returns it.
    ///
    /// # Errors
    /// Returns an error if another rank ended or missed its deadline.
    fn finish(self: Box<Self>) -> Result<Tensor>;

    /// Returns the sum and does not wait for its end: later work on the device does. If it fails, the engine's next call returns
    /// the error.
    ///
    /// # Errors
    /// Returns an error if the engine has failed.
    fn result(self: Box<Self>) -> Result<Tensor>;
}

/// Ranks that can sum tensors without a copy on the host.
pub trait OnTensors: Send {
    /// Starts the sum of `tensor` over all ranks, and does not wait for it. Every rank starts the same sums in the same order.
    /// The result is a vector.
    ///
    /// # Errors
    /// Returns an error unless the tensor is contiguous, on the engine's device and of f32 or f64, or if the engine has failed.
    fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>>;
}
