//! NVIDIA's library NCCL, opened at run time, so that a program built with it also starts where it is not installed.
//!
//! cudarc 0.19 has bindings to NCCL as well, but it searches for `libnccl.so`, which only NCCL's development package
//! installs, not for `libnccl.so.2`; and it panics if it finds neither.

use std::ffi::{CStr, c_char, c_int, c_void};

use libloading::Library as Loaded;

/// The names of the library, the preferred one first.
pub const FILES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// The oldest version that can be used, 2.14: older ones do not say what the last error was.
pub const OLDEST: c_int = 21400;

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

/// Declares [`Library`] with a field for each function, and how the functions are found.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident $name:literal ($($argument:ty),*);)*) => {
        /// NCCL's functions, with the signatures of `nccl.h`.
        pub struct Library {
            $($(#[$doc])* pub $field: unsafe extern "C" fn($($argument),*) -> Status,)*
            last_error: unsafe extern "C" fn(Handle) -> *const c_char,
            text: unsafe extern "C" fn(Status) -> *const c_char,
            version: c_int,
            file: &'static str,
            /// The functions live as long as it is loaded.
            _loaded: Loaded,
        }

        impl Library {
            /// Finds the functions of a library that was loaded as `file`.
            unsafe fn of(loaded: Loaded, file: &'static str) -> Result<Self, String> {
                let missing = |e: libloading::Error| format!("{file} loads, but lacks a function: {e}");
                // SAFETY: the signatures are those of nccl.h.
                unsafe {
                    let mut version = 0;
                    let get = loaded
                        .get::<unsafe extern "C" fn(*mut c_int) -> Status>(b"ncclGetVersion\0")
                        .map_err(missing)?;
                    get(&raw mut version);
                    if version < OLDEST {
                        return Err(format!(
                            "{file} is NCCL {}, but canopy needs NCCL {} or newer: install a newer one",
                            version_text(version),
                            version_text(OLDEST)
                        ));
                    }
                    Ok(Self {
                        $($field: *loaded.get(concat!($name, "\0").as_bytes()).map_err(missing)?,)*
                        last_error: *loaded.get(b"ncclGetLastError\0").map_err(missing)?,
                        text: *loaded.get(b"ncclGetErrorString\0").map_err(missing)?,
                        version,
                        file,
                        _loaded: loaded,
                    })
                }
            }
        }
    };
}

functions! {
    /// Creates an id.
    unique_id "ncclGetUniqueId" (*mut Id);
    /// Creates a communicator: ranks, id, this rank. Waits for the other ranks.
    init "ncclCommInitRank" (*mut Handle, c_int, Id, c_int);
    /// The error that the communicator met.
    async_error "ncclCommGetAsyncError" (Handle, *mut Status);
    /// Input, output, numbers, dtype, operator, communicator, stream.
    all_reduce "ncclAllReduce" (*const c_void, *mut c_void, usize, c_int, c_int, Handle, *mut c_void);
}

impl Library {
    /// Loads NCCL.
    ///
    /// # Errors
    /// Returns why it cannot be used, and what to do.
    pub fn open() -> Result<Self, String> {
        Self::open_first_of(&FILES)
    }

    fn open_first_of(files: &[&'static str]) -> Result<Self, String> {
        let mut reasons = Vec::new();
        for file in files {
            // SAFETY: loading NCCL runs its initialisers, as each program does that is linked with it.
            match unsafe { Loaded::new(file) } {
                // SAFETY: it is NCCL's library.
                Ok(loaded) => return unsafe { Self::of(loaded, file) },
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(format!(
            "NCCL does not load ({}): install it (Debian, Ubuntu: apt-get install libnccl2; or load your cluster's module), \
             and name its folder in LD_LIBRARY_PATH",
            reasons.join("; ")
        ))
    }

    /// The file and the version, as `libnccl.so.2, NCCL 2.28.3`.
    pub fn name(&self) -> String {
        format!("{}, NCCL {}", self.file, version_text(self.version))
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

/// 22803 is 2.28.3.
fn version_text(version: c_int) -> String {
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_says_what_to_do() {
        let error = Library::open_first_of(&["libnccl-is-not-there.so.2"])
            .err()
            .unwrap();
        let parts = ["libnccl-is-not-there.so.2", "libnccl2", "LD_LIBRARY_PATH"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn another_library_of_its_name_is_an_error() {
        let error = Library::open_first_of(&["libm.so.6"]).err().unwrap();
        assert!(error.contains("ncclGetVersion"), "{error}");
    }

    #[test]
    fn versions_are_read_as_nccl_writes_them() {
        assert_eq!([21400, 22803].map(version_text), ["2.14.0", "2.28.3"]);
    }
}
