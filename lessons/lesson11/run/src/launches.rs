//! The launches of the experiment, on the emulated grid and on a GPU.

#[cfg(feature = "cuda")]
#[allow(dead_code, reason = "the checks use it, and the experiment does not")]
pub mod compare;
pub mod counted;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod network;

use grid::Error;
use lesson11::launch::{Launch, Ran, compiled};

/// The kernels that those of the exercises are compared with.
pub const COMPARED: &str = include_str!("compared.cu");

/// Runs a launch on the emulated grid.
///
/// # Errors
/// Returns an error if the kernel cannot be compiled, or does something wrong.
pub fn on_grid(launch: &Launch) -> Result<Ran, Error> {
    let module = compiled(launch.kernel, &launch.text).as_ref();
    let ran = launch.run(module.map_err(Error::clone)?);
    ran.map_err(|fault| Error::Wrong(fault.to_string()))
}
