//! The calls into NCCL and CUDA. Not run on a GPU yet.
//!
//! The communicator has a stream of its own. A sum waits on it, by an event, for all work that was queued on the stream of
//! candle's device; that stream waits in turn, by another event, for the sum's end before its output is used or its input is
//! freed.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use candle_core::{
    CudaStorage, Device, Layout, Storage, Tensor,
    cuda_backend::{
        CudaStorageSlice,
        cudarc::driver::{CudaEvent, CudaStream, DevicePtr, SyncOnDrop},
    },
};

use super::library::{Config, Handle, IN_PROGRESS, Id, Library, Status};

/// `ncclSum`.
const SUM: c_int = 0;

/// For how long the ranks wait for each other at the start: one may read its data for much longer than another.
const START: Duration = Duration::from_secs(600);

/// The pause between two looks at a call that does not block.
const PAUSE: Duration = Duration::from_micros(50);

struct Comm(Handle);

// SAFETY: any thread may use a communicator, one at a time, which the lock around it ensures.
unsafe impl Send for Comm {}

/// One communicator of NCCL on a GPU.
pub struct Communicator {
    library: Arc<Library>,
    /// None after an abort.
    comm: Mutex<Option<Comm>>,
    device: Device,
    /// The stream of the device.
    compute: Arc<CudaStream>,
    stream: Arc<CudaStream>,
}

/// A sum that may not have ended, with its tensors. They are freed behind its end.
pub struct Sum {
    output: Tensor,
    _input: Tensor,
    end: Arc<CudaEvent>,
    compute: Arc<CudaStream>,
}

impl Sum {
    /// Its end, in the stream of the communicator.
    pub fn end(&self) -> &Arc<CudaEvent> {
        &self.end
    }

    /// Returns the sum, for which later work on the device waits.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn take(&self) -> Result<Tensor> {
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
    let uuid = gpu
        .cuda_stream()
        .context()
        .uuid()
        .context("the driver does not name the GPU")?;
    let hex: String = uuid
        .bytes
        .iter()
        .map(|byte| format!("{:02x}", *byte as u8))
        .collect();
    Ok(Some(format!("GPU-{hex}")))
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
    /// Creates the communicator `id` of rank `rank` of `world_size`. All ranks call it at the same time.
    ///
    /// # Errors
    /// Returns an error if a rank does not come within ten minutes, or NCCL's own.
    pub fn connect(
        library: Arc<Library>,
        device: &Device,
        id: Id,
        (rank, world_size): (usize, usize),
    ) -> Result<Self> {
        let compute = device.as_cuda_device()?.cuda_stream();
        let stream = compute.context().new_stream()?;
        compute.context().bind_to_thread()?;
        let (mut comm, mut config) = (null_mut(), Config::NON_BLOCKING);
        // SAFETY: the context is that of the GPU, and what is passed lives as long as the call.
        let status = unsafe {
            (library.init)(
                &raw mut comm,
                c_int::try_from(world_size)?,
                id,
                c_int::try_from(rank)?,
                &raw mut config,
            )
        };
        let this = Self {
            library,
            comm: Mutex::new(Some(Comm(comm))),
            device: device.clone(),
            compute,
            stream,
        };
        if let Err(error) = this.settle(status, START) {
            this.abort();
            return Err(error.context(format!(
                "rank {rank} of {world_size}: NCCL does not connect the ranks"
            )));
        }
        Ok(this)
    }

    /// Where tensors are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn comm(&self) -> MutexGuard<'_, Option<Comm>> {
        self.comm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a call that returned `status`, at most for `limit`, without the lock: the watcher may abort it.
    fn settle(&self, mut status: Status, limit: Duration) -> Result<()> {
        let began = Instant::now();
        while status == IN_PROGRESS {
            if began.elapsed() >= limit {
                bail!(
                    "another rank did not come within {:.1} s",
                    began.elapsed().as_secs_f64()
                );
            }
            thread::sleep(PAUSE);
            status = self.status();
        }
        match status {
            0 => Ok(()),
            status => bail!("{}", self.meaning(status)),
        }
    }

    /// The state of the communicator; that of an aborted one is an error of the user.
    fn status(&self) -> Status {
        let comm = self.comm();
        let (mut state, Some(comm)) = (0, &*comm) else {
            return 5;
        };
        // SAFETY: the lock keeps the communicator.
        match unsafe { (self.library.async_error)(comm.0, &raw mut state) } {
            0 => state,
            status => status,
        }
    }

    fn meaning(&self, status: Status) -> String {
        let comm = self.comm();
        // SAFETY: the lock keeps the communicator.
        unsafe {
            self.library
                .meaning(status, comm.as_ref().map_or(null_mut(), |comm| comm.0))
        }
    }

    /// Starts the sum of `tensor` over all ranks behind all work on it, and does not wait for it. NCCL may connect to the other
    /// ranks first, at most for `limit`.
    ///
    /// # Errors
    /// Returns an error unless the tensor is contiguous, on the GPU and of f32, f64, bf16 or f16, and NCCL's own.
    pub fn sum(&self, tensor: &Tensor, limit: Duration) -> Result<Sum> {
        // SAFETY: the sum writes all of it before the device's stream goes on to read it.
        let output = unsafe { Tensor::empty(tensor.elem_count(), tensor.dtype(), &self.device) }?;
        self.stream.join(&self.compute)?;
        self.queue(tensor, &output, limit)?;
        let end = Arc::new(self.stream.record_event(None)?);
        Ok(Sum {
            output,
            _input: tensor.clone(),
            end,
            compute: self.compute.clone(),
        })
    }

    /// Queues the sum of `input` into `output`, and waits until the call is complete on the host.
    fn queue(&self, input: &Tensor, output: &Tensor, limit: Duration) -> Result<()> {
        let (from, from_layout) = input.storage_and_layout();
        let (into, into_layout) = output.storage_and_layout();
        // The guards record that the stream uses the tensors: until the sum is queued, they must live.
        let (from, dtype, _reads) = address(&from, from_layout, &self.stream)?;
        let (into, _, _writes) = address(&into, into_layout, &self.stream)?;
        let (from, into) = (from as *const c_void, into as *mut c_void);
        let stream = self.stream.cu_stream().cast::<c_void>();
        self.stream.context().bind_to_thread()?;
        let status = match &*self.comm() {
            // SAFETY: `address` has checked that the tensors are on the GPU and contiguous, and NCCL gets their number of
            // elements; `Sum` keeps them until the stream has passed the sum.
            Some(comm) => unsafe {
                (self.library.all_reduce)(from, into, input.elem_count(), dtype, SUM, comm.0, stream)
            },
            None => bail!("the communicator has ended"),
        };
        self.settle(status, limit)
    }

    /// Whether the stream has reached the end of a sum.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn has_reached(&self, end: &CudaEvent) -> Result<bool> {
        self.stream.context().bind_to_thread()?;
        Ok(end.try_is_complete()?)
    }

    /// Returns the error that the communicator met since it was created, if there is one.
    pub fn error(&self) -> Option<String> {
        match self.status() {
            0 | IN_PROGRESS => None,
            status => Some(self.meaning(status)),
        }
    }

    /// Ends the communicator, so that the stream continues without the other ranks. Called again, it does nothing.
    pub fn abort(&self) {
        let comm = self.comm().take();
        if let Some(comm) = comm.filter(|comm| !comm.0.is_null()) {
            let _ = self.stream.context().bind_to_thread();
            // SAFETY: nobody else has the communicator any more.
            unsafe { (self.library.abort)(comm.0) };
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
