//! Compiles the kernels for an NVIDIA GPU; `device` launches them. NVRTC compiles a source for the GPU at its first use. The PTX is
//! kept on disk. Its key is a hash of the source's name, all sources, the options (which name the architecture) and NVRTC's
//! version. `.ci/cuda` compiles every source for three architectures.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use candle_core::cuda_backend::cudarc::driver::{CudaFunction, sys::CUdevice_attribute};
use candle_core::cuda_backend::cudarc::nvrtc::{self, CompileError, CompileOptions};
use candle_core::cuda_backend::{CudaDevice, DeviceId, WrapErr};
use candle_core::{Result, bail};
use canopy_data::cache_folder;
use sha2::{Digest, Sha256};

use super::cuda_source::{FILES, options as options_of};

/// The kernel `function` of the source `name`, for example `dropout_f32` of `dropout.cu`.
///
/// # Errors
/// Returns an error if there is no such source or function, or if NVRTC cannot compile it: the error contains the
/// compiler's messages with file and line.
pub(super) fn kernel(device: &CudaDevice, name: &str, function: &str) -> Result<CudaFunction> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let module = (device.id(), name.to_owned());
    // candle keeps the modules that it has loaded, and ignores the text for them.
    if loaded.contains(&module) {
        let kernel = device.get_or_load_custom_func(function, name, "")?;
        return Ok(kernel.into_cuda_function());
    }
    let kernel = device.get_or_load_custom_func(function, name, &compiled(device, name)?)?;
    loaded.insert(module);
    Ok(kernel.into_cuda_function())
}

/// The sources that each device has loaded.
static LOADED: LazyLock<Mutex<HashSet<(DeviceId, String)>>> = LazyLock::new(Mutex::default);

/// The source's PTX for this GPU, from disk if it was compiled before.
fn compiled(device: &CudaDevice, name: &str) -> Result<String> {
    let Some((_, text)) = FILES.iter().find(|file| file.0 == name) else {
        bail!("there is no CUDA source {name}");
    };
    let of = |attribute| device.cuda_stream().context().attribute(attribute).w();
    let major = of(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = of(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let mut options = vec![
        "--std=c++17".to_owned(),
        format!("--gpu-architecture=compute_{major}{minor}"),
    ];
    options.extend(options_of(text).map(str::to_owned));
    let hash = Sha256::digest(format!("{name} {FILES:?} {options:?} {}", version()?));
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let path = cache_folder().join("kernels").join(hash).with_extension("ptx");
    if let Ok(ptx) = fs::read_to_string(&path) {
        return Ok(ptx);
    }
    let ptx = compile(name, text, options)?;
    if let Err(e) = keep(&path, &ptx) {
        note!("warning: {} is compiled again next time: {e}", path.display());
    }
    Ok(ptx)
}

/// NVRTC reads the headers from disk.
fn compile(name: &str, text: &str, options: Vec<String>) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let mut include_paths = vec![headers()?];
    for (header, text) in FILES.iter().filter(|(header, _)| header.ends_with(".cuh")) {
        let path = folder.path().join(header);
        // A header is named relative to the kernels' folder, or to that of a file beside it.
        for parent in path
            .ancestors()
            .skip(1)
            .take_while(|parent| parent.starts_with(&folder))
        {
            fs::create_dir_all(parent)?;
            include_paths.push(parent.to_owned());
        }
        fs::write(path, text)?;
    }
    let include_paths = include_paths
        .iter()
        .map(|path| path.to_string_lossy().into_owned());
    let options = CompileOptions {
        include_paths: include_paths.collect(),
        options,
        name: Some(name.to_owned()),
        ..CompileOptions::default()
    };
    match nvrtc::compile_ptx_with_opts(text, options) {
        Ok(ptx) => Ok(ptx.to_src()),
        Err(CompileError::CompileError { options, log, .. }) => bail!(
            "NVRTC cannot compile {name} with {}:\n{}",
            options.join(" "),
            log.to_string_lossy()
        ),
        Err(e) => bail!("NVRTC cannot compile {name}: {e}"),
    }
}

/// NVRTC's version: a driver may be too old for the PTX of a newer one.
fn version() -> Result<String> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for writing.
    let status = unsafe { nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    match status.result() {
        Ok(()) => Ok(format!("{major}.{minor}")),
        Err(e) => bail!(
            "NVRTC, which compiles the CUDA kernels, cannot be used: {e}; is libnvrtc in LD_LIBRARY_PATH?"
        ),
    }
}

/// Writes a file that other processes may be reading.
fn keep(path: &Path, ptx: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(ptx.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// The folder of CUDA's own headers.
fn headers() -> Result<PathBuf> {
    let toolkit = |name: &str| std::env::var_os(name).map(|p| PathBuf::from(p).join("include"));
    let libraries: OsString = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    // The wheels have libraries and headers side by side.
    let beside = std::env::split_paths(&libraries).filter_map(|p| Some(p.parent()?.join("include")));
    let tried: Vec<PathBuf> = [toolkit("CUDA_HOME"), toolkit("CUDA_PATH")]
        .into_iter()
        .flatten()
        .chain(std::iter::once("/usr/local/cuda/include".into()))
        .chain(beside)
        .collect();
    match tried.iter().find(|folder| folder.join("cuda_bf16.h").is_file()) {
        Some(folder) => Ok(folder.clone()),
        None => bail!("CUDA's header cuda_bf16.h is in none of {tried:?}: set CUDA_HOME to the CUDA toolkit"),
    }
}
