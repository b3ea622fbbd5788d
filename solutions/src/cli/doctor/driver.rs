//! The NVIDIA driver's library, asked directly: what it reports decides whether a CUDA program runs.

use std::ffi::{CStr, c_char, c_int};

use libloading::Library;

use super::{
    Line,
    program::{Built, version},
};

/// The driver, and the devices that a program sees.
#[derive(Debug)]
pub struct Driver {
    /// The newest CUDA version that it supports, as 13000.
    pub cuda: i32,
    pub devices: Vec<Device>,
}

/// A device as CUDA shows it, after `CUDA_VISIBLE_DEVICES`.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub name: String,
    /// `0000:3B:00.0`.
    pub bus_id: String,
    /// 90 is 9.0.
    pub capability: i32,
    pub memory_gib: f64,
}

/// Why there is no driver to ask.
#[derive(Debug, PartialEq)]
pub enum Missing {
    /// Its library does not load; the loader's message.
    Library(String),
    /// It loads, and reports an error when it starts.
    Start(i32),
}

#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";

type Call<A> = unsafe extern "C" fn(A) -> c_int;
type Call2<A, B> = unsafe extern "C" fn(A, B) -> c_int;
type Call3<A, B, C> = unsafe extern "C" fn(A, B, C) -> c_int;

impl Driver {
    pub fn open() -> Result<Self, Missing> {
        // SAFETY: loading the driver's library runs its initialisers, as each CUDA program does; the functions have the
        // signatures of NVIDIA's cuda.h, and their outputs live as long as each call.
        unsafe {
            let library = Library::new(LIBRARY).map_err(|e| Missing::Library(e.to_string()))?;
            ask(&library)
        }
    }
}

/// The value that `call` writes to its argument, or the driver's error.
fn read<T: Default>(call: impl FnOnce(*mut T) -> c_int) -> Result<T, Missing> {
    let mut value = T::default();
    match call(&raw mut value) {
        0 => Ok(value),
        error => Err(Missing::Start(error)),
    }
}

unsafe fn ask(library: &Library) -> Result<Driver, Missing> {
    let missing = |e: libloading::Error| Missing::Library(e.to_string());
    // SAFETY: the signatures are those of cuda.h.
    unsafe {
        let init = library.get::<Call<u32>>(b"cuInit\0").map_err(missing)?;
        let version = library
            .get::<Call<*mut c_int>>(b"cuDriverGetVersion\0")
            .map_err(missing)?;
        let cuda = read(|v| version(v))?;
        let started = init(0);
        // 100 is CUDA_ERROR_NO_DEVICE: the driver is there, and no card.
        if started == 100 {
            return Ok(Driver {
                cuda,
                devices: Vec::new(),
            });
        }
        if started != 0 {
            return Err(Missing::Start(started));
        }
        let count = library
            .get::<Call<*mut c_int>>(b"cuDeviceGetCount\0")
            .map_err(missing)?;
        let devices = (0..read(|v| count(v))?).map(|ordinal| device(library, ordinal));
        Ok(Driver {
            cuda,
            devices: devices.collect::<Result<_, _>>()?,
        })
    }
}

unsafe fn device(library: &Library, ordinal: c_int) -> Result<Device, Missing> {
    let missing = |e: libloading::Error| Missing::Library(e.to_string());
    // SAFETY: as in `ask`; texts have room for the length that is passed.
    unsafe {
        let get = library
            .get::<Call2<*mut c_int, c_int>>(b"cuDeviceGet\0")
            .map_err(missing)?;
        let handle = read(|v| get(v, ordinal))?;
        let attribute = library
            .get::<Call3<*mut c_int, c_int, c_int>>(b"cuDeviceGetAttribute\0")
            .map_err(missing)?;
        // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
        let (major, minor) = (
            read(|v| attribute(v, 75, handle))?,
            read(|v| attribute(v, 76, handle))?,
        );
        let memory = library
            .get::<Call2<*mut usize, c_int>>(b"cuDeviceTotalMem_v2\0")
            .map_err(missing)?;
        let text = |name: &[u8]| -> Result<String, Missing> {
            let call = library
                .get::<Call3<*mut c_char, c_int, c_int>>(name)
                .map_err(missing)?;
            let mut text = [0 as c_char; 256];
            match call(text.as_mut_ptr(), 255, handle) {
                0 => Ok(CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()),
                error => Err(Missing::Start(error)),
            }
        };
        Ok(Device {
            name: text(b"cuDeviceGetName\0")?,
            bus_id: text(b"cuDeviceGetPCIBusId\0")?,
            capability: 10 * major + minor,
            memory_gib: read(|v| memory(v, handle))? as f64 / f64::from(1 << 30),
        })
    }
}

pub fn line(driver: &Result<Driver, Missing>, program: Option<&Built>) -> Line {
    const NAME: &str = "driver";
    let update = "update the driver, or build with the toolkit of its version";
    match (driver, program) {
        (Ok(d), Some(p)) if d.cuda < p.cuda => Line::wrong(
            NAME,
            format!(
                "supports CUDA {} and older, but this program was built with CUDA {}: its kernels will not load",
                version(d.cuda),
                version(p.cuda)
            ),
            update,
        ),
        (Ok(d), _) => Line::ok(NAME, format!("supports CUDA {} and older", version(d.cuda))),
        (Err(Missing::Library(why)), _) if nvidia_cards() > 0 => Line::wrong(
            NAME,
            format!(
                "{} NVIDIA cards on the PCI bus, but {LIBRARY} does not load: {why}",
                nvidia_cards()
            ),
            "install NVIDIA's driver (Debian: apt-get install nvidia-driver), or in a container start it with the \
             NVIDIA runtime (`--gpus all`, `--nv`)",
        ),
        (Err(Missing::Library(_)), Some(_)) => Line::warning(
            NAME,
            format!("{LIBRARY} does not load: training runs on the CPU"),
            "on a cluster run this inside a job that asked for a GPU; on a machine with a card install NVIDIA's driver",
        ),
        (Err(Missing::Library(_)), None) => Line::ok(NAME, "no NVIDIA driver; training runs on the CPU"),
        (Err(Missing::Start(error)), _) => Line::wrong(
            NAME,
            format!("{LIBRARY} loads, but does not start: {}", meaning(*error)),
            "see whether `nvidia-smi` works. After an update of the driver the machine must be started again",
        ),
    }
}

/// The errors of `cuInit` that people meet.
fn meaning(error: i32) -> String {
    let words = match error {
        34 => "CUDA_ERROR_STUB_LIBRARY: a stub of the toolkit is found before the driver's library",
        101 => "CUDA_ERROR_INVALID_DEVICE: CUDA_VISIBLE_DEVICES names a device that is not there",
        802 => "CUDA_ERROR_SYSTEM_NOT_READY: the service that joins the cards (fabric manager) does not run",
        803 => {
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: the library and the kernel's module have different versions"
        }
        804 => {
            "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: the forward compatibility package does not fit this card"
        }
        999 => "CUDA_ERROR_UNKNOWN: often the kernel's module is not loaded",
        other => return format!("CUDA error {other}"),
    };
    words.into()
}

/// NVIDIA's display and compute cards on the PCI bus. Linux only; 0 elsewhere.
fn nvidia_cards() -> usize {
    let Ok(devices) = std::fs::read_dir("/sys/bus/pci/devices") else {
        return 0;
    };
    let is = |path: &std::path::Path, file: &str, start: &str| {
        std::fs::read_to_string(path.join(file)).is_ok_and(|t| t.starts_with(start))
    };
    devices
        .flatten()
        .filter(|d| is(&d.path(), "vendor", "0x10de") && is(&d.path(), "class", "0x03"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::State;

    const BUILT: Built = Built {
        cuda: 13000,
        capability: 90,
    };

    #[test]
    fn an_old_driver_is_wrong_only_for_a_program_with_cuda() {
        let driver = |cuda| {
            Ok(Driver {
                cuda,
                devices: Vec::new(),
            })
        };
        let old = line(&driver(12040), Some(&BUILT));
        assert_eq!(old.state, State::Wrong);
        assert!(
            old.found.contains("CUDA 12.4") && old.found.contains("CUDA 13.0"),
            "{old:?}"
        );
        assert_eq!(line(&driver(13010), Some(&BUILT)).state, State::Ok);
        assert_eq!(line(&driver(12040), None).state, State::Ok);
    }

    #[test]
    fn a_driver_that_does_not_start_says_why() {
        let line = line(&Err(Missing::Start(803)), None);
        assert_eq!(line.state, State::Wrong);
        assert!(line.found.contains("different versions"), "{line:?}");
    }
}
