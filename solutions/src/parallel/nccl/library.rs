//! NVIDIA's library NCCL, opened at run time, so that a program built with it also starts where it is not installed.
//!
//! cudarc 0.19 has bindings to NCCL as well, but it searches for `libnccl.so`, which only NCCL's development package
//! installs, not for `libnccl.so.2`; and it panics if it finds neither.

use std::ffi::{CStr, c_char, c_int, c_void};

use libloading::Library as Loaded;

/// The names of the library, the preferred one first.
const FILES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// A communicator of NCCL.
pub type Handle = *mut c_void;

/// What NCCL's functions return: 0 is success.
pub type Status = c_int;

/// `ncclInProgress`: no error.
pub const IN_PROGRESS: Status = 7;

/// What all ranks of a communicator must know, created by one of them (`ncclUniqueId`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Id(pub [u8; 128]);

/// NCCL's functions, with the signatures of `nccl.h`.
pub struct Library {
    /// `ncclGetUniqueId` creates an id.
    pub unique_id: unsafe extern "C" fn(*mut Id) -> Status,
    /// `ncclCommInitRank` creates a communicator: ranks, id, this rank. Waits for the other ranks.
    pub init: unsafe extern "C" fn(*mut Handle, c_int, Id, c_int) -> Status,
    /// `ncclCommGetAsyncError`: the error that the communicator met.
    pub async_error: unsafe extern "C" fn(Handle, *mut Status) -> Status,
    /// `ncclAllReduce`: input, output, numbers, dtype, operator, communicator, stream.
    #[allow(clippy::type_complexity, reason = "the signature of nccl.h")]
    pub all_reduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> Status,
    last_error: unsafe extern "C" fn(Handle) -> *const c_char,
    text: unsafe extern "C" fn(Status) -> *const c_char,
    /// The functions live as long as it is loaded.
    _loaded: Loaded,
}

impl Library {
    /// Loads NCCL.
    ///
    /// # Errors
    /// Returns why it cannot be used, and what to do.
    pub fn open() -> Result<Self, String> {
        Self::open_first_of(&FILES)
    }

    fn open_first_of(files: &[&str]) -> Result<Self, String> {
        let mut reasons = Vec::new();
        for file in files {
            // SAFETY: loading NCCL runs its initialisers, as each program does that is linked with it.
            match unsafe { Loaded::new(file) } {
                Ok(loaded) => return Self::of(loaded, file),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(format!(
            "NCCL does not load ({}): install it (Debian, Ubuntu: apt-get install libnccl2; or load your cluster's module), \
             and name its folder in LD_LIBRARY_PATH",
            reasons.join("; ")
        ))
    }

    /// Finds the functions of a library that was loaded as `file`.
    fn of(loaded: Loaded, file: &str) -> Result<Self, String> {
        let missing =
            |e: libloading::Error| format!("{file} loads, but lacks a function, install a newer NCCL: {e}");
        // SAFETY: the signatures are those of nccl.h. NCCL before 2.13 lacks `ncclGetLastError`.
        unsafe {
            Ok(Self {
                unique_id: *loaded.get(b"ncclGetUniqueId\0").map_err(missing)?,
                init: *loaded.get(b"ncclCommInitRank\0").map_err(missing)?,
                async_error: *loaded.get(b"ncclCommGetAsyncError\0").map_err(missing)?,
                all_reduce: *loaded.get(b"ncclAllReduce\0").map_err(missing)?,
                last_error: *loaded.get(b"ncclGetLastError\0").map_err(missing)?,
                text: *loaded.get(b"ncclGetErrorString\0").map_err(missing)?,
                _loaded: loaded,
            })
        }
    }

    /// What a status means, with NCCL's last words on it.
    ///
    /// # Safety
    /// `comm` is a communicator of this library, or null.
    pub unsafe fn meaning(&self, status: Status, comm: Handle) -> String {
        // SAFETY: NCCL returns texts that live as long as it does.
        let [text, last] = unsafe { [(self.text)(status), (self.last_error)(comm)] }.map(|text| {
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.map(|t| t.to_string_lossy().trim().to_owned())
                .unwrap_or_default()
        });
        match last.is_empty() {
            true => text,
            false => format!("{text} ({last})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_cannot_be_used_is_an_error_that_says_why() {
        let mut cases = vec![
            ("libnccl-is-not-there.so.2", "LD_LIBRARY_PATH"),
            ("libnccl-is-not-there.so.2", "libnccl2"),
        ];
        if cfg!(target_os = "linux") {
            cases.push(("libm.so.6", "ncclGetUniqueId"));
        }
        for (file, why) in cases {
            let error = Library::open_first_of(&[file]).err().unwrap();
            assert!(error.contains(file) && error.contains(why), "{error}");
        }
    }
}
