//! Chooses a device by name.

use anyhow::{Result, anyhow};
use candle_core::Device;

/// A device, and the reason it was chosen.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The device.
    pub device: Device,
    /// Its name in messages: `cpu, 2 threads`, `cuda:0`.
    pub name: String,
    /// Why `auto` chose the CPU, if it did.
    pub reason: Option<String>,
}

// ANCHOR: Settled
/// The result of [`choose_device`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The CUDA device's number; None for the CPU.
    pub cuda: Option<usize>,
    /// Why it is the CPU, if `auto` could not open a CUDA device.
    pub reason: Option<String>,
}
// ANCHOR_END: Settled

/// The device that `auto`, `cpu`, `cuda` or `cuda:N` selects. `open(N)` opens CUDA device N, or returns why it cannot.
///
/// `auto` selects the first CUDA device, or the CPU if that does not open. A device that is named never falls back to the
/// CPU, because the user might not notice and wait for days.
///
/// # Errors
/// Returns an error for an unknown name, with the known ones, and the error of a named device that does not open.
pub fn choose_device(
    name: &str,
    open: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Settled, String> {
    let settled = |cuda, reason| Ok(Settled { cuda, reason });
    let ordinal = match name {
        "cpu" => return settled(None, None),
        "auto" => {
            return match open(0) {
                Ok(()) => settled(Some(0), None),
                Err(why) => settled(None, Some(why)),
            };
        }
        "cuda" => Some(0),
        // `parse` alone would accept `cuda:+1` as well.
        other => other
            .strip_prefix("cuda:")
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok()),
    };
    let Some(ordinal) = ordinal else {
        return Err(format!(
            "there is no device '{name}': choose auto, cpu, cuda or cuda:N"
        ));
    };
    open(ordinal).map_err(|why| format!("cuda:{ordinal} cannot be used: {why}"))?;
    settled(Some(ordinal), None)
}

/// The device named `auto`, `cpu`, `cuda` or `cuda:N`, opened; see [`choose_device`].
///
/// # Errors
/// As [`choose_device`].
pub fn choose(name: &str) -> Result<Chosen> {
    let mut opened = None;
    let Settled { cuda, reason } = choose_device(name, &mut |ordinal| {
        opened = Some(open(ordinal)?);
        Ok(())
    })
    .map_err(|why| anyhow!(why))?;
    let threads = rayon::current_num_threads();
    let s = if threads == 1 { "" } else { "s" };
    Ok(Chosen {
        device: opened.unwrap_or(Device::Cpu),
        name: cuda.map_or_else(|| format!("cpu, {threads} thread{s}"), |n| format!("cuda:{n}")),
        reason,
    })
}

/// Opens CUDA device `ordinal`.
///
/// # Errors
/// Returns why it cannot be opened.
pub fn open(ordinal: usize) -> Result<Device, String> {
    if !cfg!(feature = "cuda") {
        return Err("this program was built without `--features cuda`".into());
    }
    // A stream of its own, because the per-thread default stream of `new_cuda` does not order work between threads.
    let opened = Device::new_cuda_with_stream(ordinal).and_then(|device| {
        set_up(&device)?;
        Ok(device)
    });
    opened.map_err(|e| {
        // With RUST_BACKTRACE, candle's message continues with a backtrace.
        let words = e.to_string();
        let cause = words.lines().next().unwrap_or_default();
        format!("{cause}. `nvidia-smi` lists the devices that the driver sees")
    })
}

/// Settings of a GPU that a training step needs to run without waiting.
#[cfg(feature = "cuda")]
fn set_up(device: &Device) -> candle_core::Result<()> {
    use candle_core::cuda_backend::{
        WrapErr,
        cudarc::driver::{result, sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD},
    };

    let gpu = device.as_cuda_device()?;
    let stream = gpu.cuda_stream();
    let context = stream.context();
    if context.has_async_alloc() {
        context.bind_to_thread().w()?;
        let mut keep = u64::MAX;
        // By default, each wait for the device gives unused memory back to the system, and the next step allocates it again.
        // SAFETY: the device is open, and this attribute is a u64.
        unsafe {
            let pool = result::device::get_mem_pool(context.cu_device()).w()?;
            let value = (&raw mut keep).cast();
            result::mem_pool::set_attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value).w()?;
        }
    }
    // Otherwise each tensor has two events, and each launch waits for those of its arguments and records its own.
    // SAFETY: all tensors are allocated, used and freed on this one stream. Who copies on another one, as the loader does,
    // orders it by events of its own.
    unsafe { gpu.disable_event_tracking() };
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn set_up(_: &Device) -> candle_core::Result<()> {
    Ok(())
}

#[cfg(test)]
#[test]
fn auto_without_cuda_is_the_cpu_and_says_why() {
    if !cfg!(feature = "cuda") {
        let chosen = choose("auto").expect("the CPU always opens");
        assert!(chosen.device.is_cpu());
        assert!(chosen.reason.is_some_and(|why| why.contains("--features cuda")));
    }
}
