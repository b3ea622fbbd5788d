//! NVIDIA's library NCCL, opened at run time, so that a program built with it also starts where it is not installed.
//!
//! cudarc 0.19 has bindings to NCCL as well, but it searches for `libnccl.so`, which only NCCL's development package
//! installs, not for `libnccl.so.2`; and it panics if it finds neither.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::forget,
};

use anyhow::{Context, Result, bail};
use libloading::Library as Loaded;

/// A communicator of NCCL.
pub type Handle = *mut c_void;

/// What NCCL's functions return: 0 is success.
pub type Status = c_int;

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
    /// `ncclAllReduce`: input, output, numbers, dtype, operator, communicator, stream.
    #[allow(clippy::type_complexity, reason = "the signature of nccl.h")]
    pub all_reduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> Status,
    last_error: unsafe extern "C" fn(Handle) -> *const c_char,
    text: unsafe extern "C" fn(Status) -> *const c_char,
}

impl Library {
    /// Loads NCCL.
    ///
    /// # Errors
    /// Returns why it cannot be used, and what to do.
    pub fn open() -> Result<Self> {
        Self::open_file("libnccl.so.2")
    }

    fn open_file(file: &str) -> Result<Self> {
        // SAFETY: loading NCCL runs its initialisers, as each program does that is linked with it. The signatures are those of
        // nccl.h; NCCL before 2.13 lacks `ncclGetLastError`.
        unsafe {
            let loaded = Loaded::new(file).context(
                "NCCL does not load: install it (Debian, Ubuntu: apt-get install libnccl2; or load your cluster's module), and \
                 name its folder in LD_LIBRARY_PATH",
            )?;
            let missing = || format!("{file} loads, but lacks a function, install a newer NCCL");
            let library = Self {
                unique_id: *loaded.get(b"ncclGetUniqueId\0").with_context(missing)?,
                init: *loaded.get(b"ncclCommInitRank\0").with_context(missing)?,
                all_reduce: *loaded.get(b"ncclAllReduce\0").with_context(missing)?,
                last_error: *loaded.get(b"ncclGetLastError\0").with_context(missing)?,
                text: *loaded.get(b"ncclGetErrorString\0").with_context(missing)?,
            };
            // The functions live as long as it is loaded: for ever.
            forget(loaded);
            Ok(library)
        }
    }

    /// Returns an error unless `status` is success: its meaning, and NCCL's last error message.
    ///
    /// # Safety
    /// `comm` is a communicator of this library, or null.
    pub unsafe fn check(&self, status: Status, comm: Handle) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            // SAFETY: NCCL returns texts that live as long as it does.
            false => unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .trim()
                .to_owned(),
        };
        // SAFETY: the caller's.
        let [meaning, last] = unsafe { [(self.text)(status), (self.last_error)(comm)] }.map(text);
        bail!("{meaning} ({last})")
    }
}

#[cfg(test)]
#[test]
fn a_library_that_cannot_be_used_is_an_error_that_says_why() {
    let none = "libnccl-is-not-there.so.2";
    let mut cases = vec![(none, "LD_LIBRARY_PATH"), (none, "libnccl2")];
    if cfg!(target_os = "linux") {
        cases.push(("libm.so.6", "ncclGetUniqueId"));
    }
    for (file, why) in cases {
        let error = format!("{:#}", Library::open_file(file).err().expect("it cannot be used"));
        assert!(error.contains(file) && error.contains(why), "{error}");
    }
}
