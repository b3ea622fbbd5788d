//! The calls into NCCL and CUDA. Not run on a GPU yet.
//!
//! The communicator has a stream of its own. A sum waits on it, by an event, for all work that was queued on the stream of
//! candle's device; that stream waits in turn, by another event, for the sum's end before its output is used or its input is
//! freed.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result, bail};
use candle_core::{
    CudaStorage, Device, Layout, Storage, Tensor,
    cuda_backend::{
        CudaStorageSlice,
        cudarc::driver::{CudaEvent, CudaStream, DevicePtr, SyncOnDrop},
    },
};

use super::library::{Handle, IN_PROGRESS, Id, Library, Status};
use crate::parallel::Started;

/// `ncclSum`.
const SUM: c_int = 0;

struct Comm(Handle);

// SAFETY: any thread may use a communicator. One at a time may call it, which a lock ensures; any may ask for its error.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

/// One communicator of NCCL on a GPU. It lives as long as the process: destroying it may wait for other ranks.
pub struct Communicator {
    library: Arc<Library>,
    comm: Comm,
    /// Held while NCCL is called.
    calls: Mutex<()>,
    device: Device,
    /// The stream of the device.
    compute: Arc<CudaStream>,
    stream: Arc<CudaStream>,
}

/// A sum that may not have ended, with its tensors. They are freed behind its end.
pub struct Sum {
    output: Tensor,
    _input: Tensor,
    /// Its end, in the stream of the communicator.
    pub end: Arc<CudaEvent>,
    compute: Arc<CudaStream>,
}

/// If the sum never ends, the thread of `Watch` ends the process.
impl Started for Sum {
    fn finish(self: Box<Self>) -> Result<Tensor> {
        self.end.synchronize()?;
        self.result()
    }

    fn result(self: Box<Self>) -> Result<Tensor> {
        self.compute.wait(&self.end)?;
        Ok(self.output.clone())
    }
}

impl Drop for Sum {
    fn drop(&mut self) {
        // It fails only if the device has failed, which later calls report.
        let _ = self.compute.wait(&self.end);
    }
}

/// Returns a name of the GPU `device` that is different for each GPU; None for the CPU.
///
/// # Errors
/// Returns an error if the driver does not name it.
pub fn card(device: &Device) -> Result<Option<String>> {
    let Ok(gpu) = device.as_cuda_device() else {
        return Ok(None);
    };
    let uuid = gpu.cuda_stream().context().uuid();
    let uuid = uuid.context("the driver does not name the GPU")?;
    let hex = uuid.bytes.map(|byte| format!("{:02x}", byte as u8));
    Ok(Some(format!("GPU-{}", hex.concat())))
}

/// Creates NCCL's id of a communicator.
///
/// # Errors
/// Returns NCCL's error.
pub fn create_id(library: &Library) -> Result<Id> {
    let mut id = Id([0; 128]);
    // SAFETY: it writes 128 bytes.
    match unsafe { (library.unique_id)(&raw mut id) } {
        0 => Ok(id),
        // SAFETY: null is no communicator.
        status => bail!("NCCL creates no id: {}", unsafe {
            library.meaning(status, null_mut())
        }),
    }
}

impl Communicator {
    /// Creates the communicator `id` of rank `rank` of `world_size`, and waits for the other ranks, which call it too.
    ///
    /// # Errors
    /// Returns NCCL's error.
    pub fn connect(
        library: Arc<Library>,
        device: &Device,
        id: Id,
        (rank, world_size): (usize, usize),
    ) -> Result<Self> {
        let compute = device.as_cuda_device()?.cuda_stream();
        let stream = compute.context().new_stream()?;
        compute.context().bind_to_thread()?;
        let mut comm = null_mut();
        let (ranks, own) = (c_int::try_from(world_size)?, c_int::try_from(rank)?);
        // SAFETY: the context is that of the GPU, and what is passed lives as long as the call.
        let status = unsafe { (library.init)(&raw mut comm, ranks, id, own) };
        let this = Self {
            library,
            comm: Comm(comm),
            calls: Mutex::default(),
            device: device.clone(),
            compute,
            stream,
        };
        this.check(status)
            .with_context(|| format!("rank {rank} of {world_size}: NCCL does not connect the ranks"))?;
        Ok(this)
    }

    /// Where tensors are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn check(&self, status: Status) -> Result<()> {
        match status {
            0 => Ok(()),
            status => bail!("{}", self.meaning(status)),
        }
    }

    fn meaning(&self, status: Status) -> String {
        // SAFETY: the communicator is not freed; it is null if it was not created.
        unsafe { self.library.meaning(status, self.comm.0) }
    }

    /// Starts the sum of `tensor` over all ranks behind all work on it, and does not wait for it. NCCL may connect to the other
    /// ranks first.
    ///
    /// # Errors
    /// Returns an error unless the tensor is contiguous, on the GPU and of f32, f64, bf16 or f16, and NCCL's own.
    pub fn sum(&self, tensor: &Tensor) -> Result<Sum> {
        // SAFETY: the sum writes all of it before the device's stream goes on to read it.
        let output = unsafe { Tensor::empty(tensor.elem_count(), tensor.dtype(), &self.device) }?;
        self.stream.join(&self.compute)?;
        self.queue(tensor, &output)?;
        let end = Arc::new(self.stream.record_event(None)?);
        Ok(Sum {
            output,
            _input: tensor.clone(),
            end,
            compute: self.compute.clone(),
        })
    }

    /// Queues the sum of `input` into `output`.
    fn queue(&self, input: &Tensor, output: &Tensor) -> Result<()> {
        let (from, from_layout) = input.storage_and_layout();
        let (into, into_layout) = output.storage_and_layout();
        // The guards record that the stream uses the tensors: until the sum is queued, they must live.
        let (from, dtype, _reads) = address(&from, from_layout, &self.stream)?;
        let (into, _, _writes) = address(&into, into_layout, &self.stream)?;
        let (from, into) = (from as *const c_void, into as *mut c_void);
        let stream = self.stream.cu_stream().cast::<c_void>();
        self.stream.context().bind_to_thread()?;
        let _one_at_a_time = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `address` has checked that the tensors are on the GPU and contiguous, and NCCL gets their number of elements;
        // `Sum` keeps them until the stream has passed the sum.
        let status = unsafe {
            (self.library.all_reduce)(from, into, input.elem_count(), dtype, SUM, self.comm.0, stream)
        };
        self.check(status)
    }

    /// Returns the error that the communicator met since it was created, if there is one.
    pub fn error(&self) -> Option<String> {
        let mut state = 0;
        // SAFETY: the communicator is not freed.
        match unsafe { (self.library.async_error)(self.comm.0, &raw mut state) } {
            0 if [0, IN_PROGRESS].contains(&state) => None,
            0 => Some(self.meaning(state)),
            status => Some(self.meaning(status)),
        }
    }
}

/// The address of a contiguous tensor's first number, NCCL's name of its dtype, and what records that `stream` uses it.
fn address<'a>(
    storage: &'a Storage,
    layout: &Layout,
    stream: &'a CudaStream,
) -> Result<(u64, c_int, SyncOnDrop<'a>)> {
    let (Storage::Cuda(CudaStorage { slice, .. }), Some((from, _))) = (storage, layout.contiguous_offsets())
    else {
        bail!(
            "expected a contiguous tensor on the GPU, got one with strides {:?}",
            layout.stride()
        );
    };
    let (((address, guard), size), dtype) = match slice {
        CudaStorageSlice::F16(s) => ((s.device_ptr(stream), 2), 6),
        CudaStorageSlice::F32(s) => ((s.device_ptr(stream), 4), 7),
        CudaStorageSlice::F64(s) => ((s.device_ptr(stream), 8), 8),
        CudaStorageSlice::BF16(s) => ((s.device_ptr(stream), 2), 9),
        _ => bail!("expected a tensor of f32, f64, bf16 or f16"),
    };
    Ok((address + (from * size) as u64, dtype, guard))
}
