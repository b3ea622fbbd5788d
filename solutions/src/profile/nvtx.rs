//! NVTX ranges: names that nsys shows over what the device does. The library is loaded when asked for.

use std::ffi::{CString, c_char, c_int};

use anyhow::{Result, bail};
use libloading::Library;

/// NVIDIA's library of ranges, loaded.
pub struct Ranges {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    _library: Library,
}

impl std::fmt::Debug for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ranges")
    }
}

const NAMES: [&str; 3] = ["libnvToolsExt.so.1", "libnvToolsExt.so", "nvToolsExt64_1.dll"];

impl Ranges {
    /// Loads the library.
    ///
    /// # Errors
    /// It is not there; what to do.
    pub fn open() -> Result<Self> {
        for name in NAMES {
            // SAFETY: NVIDIA's library does nothing on loading that this program could break.
            let Ok(library) = (unsafe { Library::new(name) }) else {
                continue;
            };
            // SAFETY: both functions have these types since NVTX 1.
            let found = unsafe {
                let push = library.get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"nvtxRangePushA\0");
                let pop = library.get::<unsafe extern "C" fn() -> c_int>(b"nvtxRangePop\0");
                push.and_then(|push| Ok((*push, *pop?)))
            };
            if let Ok((push, pop)) = found {
                return Ok(Self {
                    push,
                    pop,
                    _library: library,
                });
            }
        }
        bail!(
            "NVTX is not here ({} was looked for): it comes with the CUDA toolkit, whose lib64 must stand in LD_LIBRARY_PATH",
            NAMES[0]
        )
    }

    pub(super) fn push(&self, name: &str) {
        if let Ok(name) = CString::new(name) {
            // SAFETY: the function copies the name.
            unsafe { (self.push)(name.as_ptr()) };
        }
    }

    pub(super) fn pop(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.pop)() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_absent_is_said_to_be() {
        match Ranges::open() {
            Ok(ranges) => {
                ranges.push("step");
                ranges.pop();
            }
            Err(e) => assert!(e.to_string().contains("libnvToolsExt.so.1"), "{e}"),
        }
    }
}
