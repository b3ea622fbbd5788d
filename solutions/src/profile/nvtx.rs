//! NVTX ranges: the names of spans, as Nsight Systems shows them over the work of a GPU. NVIDIA's crate `nvtx` provides them;
//! its build needs a C compiler and libclang, so it is behind the feature `nvtx`. Without a profiler a range is a call of an
//! empty function.

use anyhow::{Result, ensure};

/// A range of the calling thread. It ends when it is dropped.
#[cfg(feature = "nvtx")]
pub(super) struct Range {
    _open: nvtx::LocalRange,
}

/// Without the feature there are no ranges.
#[cfg(not(feature = "nvtx"))]
pub(super) enum Range {}

impl Range {
    /// Opens a range; None without the feature.
    pub fn open(name: &'static str) -> Option<Self> {
        #[cfg(feature = "nvtx")]
        return std::ffi::CString::new(name).ok().map(|name| Self {
            _open: nvtx::LocalRange::new(name),
        });
        #[cfg(not(feature = "nvtx"))]
        return {
            let _ = name;
            None
        };
    }
}

/// Checks that this program was built with NVTX.
///
/// # Errors
/// Returns an error if it was not, and says how to build it.
pub fn nvtx_available() -> Result<()> {
    ensure!(
        cfg!(feature = "nvtx"),
        "this program was built without NVTX: build it with `--features nvtx`"
    );
    Ok(())
}
