//! The calls into NCCL and CUDA. Not run on a GPU yet.
//!
//! The communicator has a stream of its own. An operation waits on it, by an event, for all work that was queued on the stream
//! of candle's device; that stream waits in turn, by another event, for the operation's end before its output is used or its
//! inputs are freed.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use candle_core::{
    CudaStorage, DType, Device, Layout, Storage, Tensor,
    cuda_backend::{
        CudaStorageSlice,
        cudarc::driver::{CudaEvent, CudaStream, DevicePtr, SyncOnDrop},
    },
};

use super::{
    calls::Calls,
    library::{Config, Handle, IN_PROGRESS, Id, Library, Status},
    watch::Common,
};
use crate::parallel::Operation;

/// `ncclSum`.
const SUM: c_int = 0;

/// The pause between two looks at a call that does not block.
const PAUSE: Duration = Duration::from_micros(50);

struct Comm(Handle);

// SAFETY: any thread may use a communicator, one at a time, which the lock around it ensures.
unsafe impl Send for Comm {}

/// One communicator of NCCL on a GPU.
pub struct Cuda {
    library: Arc<Library>,
    /// None after an abort.
    comm: Mutex<Option<Comm>>,
    device: Device,
    /// The stream of the device.
    compute: Arc<CudaStream>,
    stream: Arc<CudaStream>,
    world_size: usize,
    common: Arc<Common>,
}

/// An operation's tensors. They are freed behind its end.
pub struct Output {
    output: Tensor,
    _inputs: Vec<Tensor>,
    done: Arc<CudaEvent>,
    compute: Arc<CudaStream>,
}

impl Drop for Output {
    fn drop(&mut self) {
        // It fails only if the device has failed, which later calls report.
        let _ = self.compute.wait(&self.done);
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

impl Cuda {
    /// Creates the communicator `id` of rank `rank` of `world_size`. All ranks call it at the same time.
    ///
    /// # Errors
    /// Returns an error if a rank does not come within the deadline, or NCCL's own.
    pub fn connect(
        library: Arc<Library>,
        device: &Device,
        id: Id,
        (rank, world_size): (usize, usize),
        common: Arc<Common>,
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
            world_size,
            common,
        };
        if let Err(error) = this.settle(status) {
            this.abort();
            return Err(error.context(format!(
                "rank {rank} of {world_size}: NCCL does not connect the ranks"
            )));
        }
        Ok(this)
    }

    fn comm(&self) -> MutexGuard<'_, Option<Comm>> {
        self.comm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls NCCL with the communicator, and waits until the call is complete on the host.
    fn call(&self, call: impl FnOnce(Handle) -> Status) -> Result<()> {
        self.stream.context().bind_to_thread()?;
        let status = match &*self.comm() {
            Some(comm) => call(comm.0),
            None => bail!("the communicator has ended"),
        };
        self.settle(status)
    }

    /// Waits for the end of a call that returned `status`, without the lock: the watcher may abort it.
    fn settle(&self, mut status: Status) -> Result<()> {
        let began = Instant::now();
        while status == IN_PROGRESS {
            if began.elapsed() >= self.common.deadline() {
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

    /// Queues `operation` from `inputs` to `output`.
    fn launch(&self, operation: &Operation, inputs: &[&Tensor], output: &Tensor) -> Result<()> {
        let locked: Vec<_> = inputs
            .iter()
            .chain([&output])
            .map(|t| t.storage_and_layout())
            .collect();
        // The guards record that the stream uses the tensors: until the operation is queued, they must live.
        let addresses: Vec<_> = locked
            .iter()
            .map(|(storage, layout)| address(storage, layout, &self.stream))
            .collect::<Result<_>>()?;
        let stream = self.stream.cu_stream().cast::<c_void>();
        let Some(((into, dtype, _), from)) = addresses.split_last() else {
            bail!("{operation} has no output");
        };
        let (into, dtype) = (*into as *mut c_void, *dtype);
        let input = from.first().map_or(null_mut(), |(from, ..)| *from as *mut c_void);
        let nccl = &self.library;
        // SAFETY: `address` has checked that the tensors are on the GPU and contiguous, and they have as many numbers as NCCL is
        // told; `Output` keeps them until the stream has passed the operation.
        self.call(|comm| unsafe {
            match operation {
                Operation::AllReduce(t) => {
                    (nccl.all_reduce)(input, into, t.elem_count(), dtype, SUM, comm, stream)
                }
                Operation::ReduceScatter(t) => {
                    let part = t.elem_count() / self.world_size;
                    (nccl.reduce_scatter)(input, into, part, dtype, SUM, comm, stream)
                }
                Operation::AllGather(t) => {
                    (nccl.all_gather)(input, into, t.elem_count(), dtype, comm, stream)
                }
                Operation::Broadcast(root, t) => {
                    (nccl.broadcast)(input, into, t.elem_count(), dtype, *root as c_int, comm, stream)
                }
                Operation::Exchange { sends, receive } => {
                    let mut failed = (nccl.group_start)();
                    let mut and = |status| {
                        if [0, IN_PROGRESS].contains(&failed) {
                            failed = status;
                        }
                    };
                    for ((to, t), (from, dtype, _)) in sends.iter().zip(from) {
                        let from = *from as *const c_void;
                        and((nccl.send)(
                            from,
                            t.elem_count(),
                            *dtype,
                            *to as c_int,
                            comm,
                            stream,
                        ));
                    }
                    if let Some((from, numbers)) = receive {
                        and((nccl.receive)(
                            into,
                            *numbers,
                            dtype,
                            *from as c_int,
                            comm,
                            stream,
                        ));
                    }
                    and((nccl.group_end)());
                    failed
                }
            }
        })
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

impl Calls for Cuda {
    type Mark = Arc<CudaEvent>;
    type Output = Output;

    fn device(&self) -> &Device {
        &self.device
    }

    fn queue(&self, operation: &Operation) -> Result<(Output, Self::Mark)> {
        let inputs: Vec<&Tensor> = match operation {
            Operation::AllReduce(t)
            | Operation::ReduceScatter(t)
            | Operation::AllGather(t)
            | Operation::Broadcast(_, t) => vec![t],
            Operation::Exchange { sends, .. } => sends.iter().map(|(_, t)| t).collect(),
        };
        let dtype = match operation {
            Operation::Exchange { .. } => DType::F32,
            _ => inputs[0].dtype(),
        };
        // Messages without a receive have no output, and CUDA has no empty allocations.
        let numbers = operation.output(self.world_size).max(1);
        // SAFETY: the operation writes all of it before the device's stream goes on to read it.
        let output = unsafe { Tensor::empty(numbers, dtype, &self.device) }?;
        self.stream.join(&self.compute)?;
        self.launch(operation, &inputs, &output)?;
        let done = Arc::new(self.stream.record_event(None)?);
        let output = Output {
            output,
            _inputs: inputs.into_iter().cloned().collect(),
            done: done.clone(),
            compute: self.compute.clone(),
        };
        Ok((output, done))
    }

    fn has_reached(&self, mark: &Self::Mark) -> Result<bool> {
        self.stream.context().bind_to_thread()?;
        Ok(mark.try_is_complete()?)
    }

    fn take(&self, output: Output) -> Result<Tensor> {
        self.compute.wait(&output.done)?;
        Ok(output.output.clone())
    }

    fn error(&self) -> Option<String> {
        match self.status() {
            0 | IN_PROGRESS => None,
            status => Some(self.meaning(status)),
        }
    }

    fn abort(&self) {
        let comm = self.comm().take();
        if let Some(comm) = comm.filter(|comm| !comm.0.is_null()) {
            let _ = self.stream.context().bind_to_thread();
            // SAFETY: nobody else has the communicator any more.
            unsafe { (self.library.abort)(comm.0) };
        }
    }
}
