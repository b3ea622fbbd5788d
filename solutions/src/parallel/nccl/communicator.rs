//! The sums, and the calls into NCCL and CUDA. Not run on a GPU yet.
//!
//! The communicator has a stream of its own. A sum waits on it, by an event, for all work that was queued on the stream of
//! candle's device; that stream waits in turn, by another event, for the sum's end before its output is used or its input is
//! freed.
//!
//! NCCL says nothing about a rank that never comes, so a thread of each rank watches what is in flight by the signs of life that
//! MPI carries, and ends the job on all ranks at a deadline, as MPI's own operations do.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use candle_core::{
    DType, Device, Tensor,
    cuda_backend::cudarc::driver::{CudaEvent, CudaStream},
};

use super::{
    agree,
    library::{Handle, Id, Library},
};
use crate::{
    kernels::device::address,
    parallel::{Collective, OnTensors, Started, gather_json, mpi::Shared},
};

/// `ncclSum`.
const SUM: c_int = 0;

/// How often the thread looks at what is in flight.
const LOOK: Duration = Duration::from_millis(10);

struct Comm(Handle);

// SAFETY: any thread may use a communicator. One at a time does, because it is in a mutex.
unsafe impl Send for Comm {}

/// The operations in flight by name, and the end of each in the stream of the communicator; none while NCCL is called, which may
/// wait for other ranks too.
type Flying = Mutex<Vec<(String, Option<Arc<CudaEvent>>)>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One communicator of NCCL on a GPU. It lives as long as the process: destroying it may wait for other ranks.
pub struct Communicator {
    rank: usize,
    library: Library,
    comm: Mutex<Comm>,
    device: Device,
    /// The stream of the device.
    compute: Arc<CudaStream>,
    stream: Arc<CudaStream>,
    flying: Arc<Flying>,
}

/// A sum that may not have ended, with its tensors. They are freed behind its end.
struct Sum {
    output: Tensor,
    _input: Tensor,
    /// Its end, in the stream of the communicator.
    end: Arc<CudaEvent>,
    compute: Arc<CudaStream>,
}

/// If the sum never ends, the thread that watches it ends the process.
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

impl Communicator {
    /// Connects this process to the others, if each has a GPU; returns None if none has. Every rank calls it.
    ///
    /// # Errors
    /// Returns an error if only some ranks have a GPU, or if NCCL does not load or fails, as it does if two share one.
    pub fn connect(links: &dyn Collective, device: &Device, shared: &Arc<Shared>) -> Result<Option<Self>> {
        let (rank, world_size) = (links.rank(), links.world_size());
        let library = device.is_cuda().then(Library::open).transpose();
        let library = library.with_context(|| format!("rank {rank}"))?;
        links.doing("starting, at the creation of NCCL's communicator");
        let mut id = Id([0; 128]);
        if let Some(library) = library.as_ref().filter(|_| rank == 0) {
            // SAFETY: it writes 128 bytes; null is no communicator.
            unsafe { library.check((library.unique_id)(&raw mut id), null_mut()) }
                .context("NCCL creates no id")?;
        }
        let ranks: Vec<(bool, Vec<u8>)> = gather_json(links, &(device.is_cuda(), id.0.to_vec()))?;
        let on_gpu: Vec<bool> = ranks.iter().map(|(on_gpu, _)| *on_gpu).collect();
        let agreed = agree(&on_gpu)?;
        let Some(library) = library.filter(|_| agreed) else {
            return Ok(None);
        };
        id.0.copy_from_slice(&ranks[0].1);

        let compute = device.as_cuda_device()?.cuda_stream();
        let stream = compute.context().new_stream()?;
        compute.context().bind_to_thread()?;
        let flying = Arc::new(Flying::default());
        let (watched, shared) = (Arc::downgrade(&flying), shared.clone());
        let thread = thread::Builder::new().name(format!("rank-{rank}-nccl"));
        let started = thread.spawn(move || watch(&watched, &shared));
        started.context("cannot start the thread that watches NCCL")?;
        let mut comm = null_mut();
        let (count, own) = (c_int::try_from(world_size)?, c_int::try_from(rank)?);
        lock(&flying).push(("the connection of NCCL".to_owned(), None));
        // SAFETY: the context is that of the GPU, and what is passed lives as long as the calls.
        unsafe {
            let status = (library.init)(&raw mut comm, count, id, own);
            library.check(status, comm)
        }
        .with_context(|| format!("rank {rank} of {world_size}: NCCL does not connect the ranks"))?;
        lock(&flying).pop();
        Ok(Some(Self {
            rank,
            library,
            comm: Mutex::new(Comm(comm)),
            device: device.clone(),
            compute,
            stream,
            flying,
        }))
    }

    /// Starts the sum of `tensor` over all ranks behind all work on it, and does not wait for it. NCCL may connect to the other
    /// ranks first.
    ///
    /// # Errors
    /// Returns an error unless the tensor is contiguous, on the GPU and of f32 or f64, and NCCL's own.
    fn sum(&self, tensor: &Tensor) -> Result<Sum> {
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
        // NCCL's names of dtypes.
        let dtype = match input.dtype() {
            DType::F32 => 7,
            DType::F64 => 8,
            other => bail!("expected a tensor of f32 or f64, got {other:?}"),
        };
        let (from, from_layout) = input.storage_and_layout();
        let (into, into_layout) = output.storage_and_layout();
        // The guards record that the stream uses the tensors: until the sum is queued, they must live.
        let (from, _reads) = address(&from, from_layout, &self.stream)?;
        let (into, _writes) = address(&into, into_layout, &self.stream)?;
        let (from, into) = (from as *const c_void, into as *mut c_void);
        let stream = self.stream.cu_stream().cast::<c_void>();
        self.stream.context().bind_to_thread()?;
        let comm = lock(&self.comm);
        // SAFETY: `address` has checked that the tensors are on the GPU and contiguous, and NCCL gets their number of elements;
        // `Sum` keeps them until the stream has passed the sum.
        unsafe {
            let status =
                (self.library.all_reduce)(from, into, input.elem_count(), dtype, SUM, comm.0, stream);
            self.library.check(status, comm.0)
        }
    }
}

impl OnTensors for Arc<Communicator> {
    fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>> {
        let name = format!("an all-reduce of {} numbers", tensor.elem_count());
        lock(&self.flying).push((name.clone(), None));
        let sum = self.sum(tensor);
        let mut flying = lock(&self.flying);
        // One thread starts sums, and the thread that watches leaves what has no end.
        flying.pop();
        let sum = sum.with_context(|| format!("rank {}: {name} over NCCL does not start", self.rank))?;
        flying.push((name, Some(sum.end.clone())));
        Ok(Box::new(sum))
    }
}

/// Forgets what has ended, and ends the job on all ranks if what is in flight waits in vain.
fn watch(watched: &Weak<Flying>, shared: &Shared) {
    let (mut waited, mut last) = (Duration::ZERO, Instant::now());
    loop {
        thread::sleep(LOOK);
        let Some(flying) = watched.upgrade() else {
            return;
        };
        // Time in which this process was suspended does not count.
        waited += last.elapsed().min(10 * LOOK);
        last = Instant::now();
        let mut flying = lock(&flying);
        let before = flying.len();
        flying.retain(|(_, end)| end.as_ref().is_none_or(|end| !has_ended(end)));
        if flying.is_empty() || flying.len() < before {
            waited = Duration::ZERO;
        }
        let cause = flying.first().and_then(|(name, _)| shared.waits(name, waited));
        if let Some(cause) = cause {
            shared.abort(&cause);
        }
    }
}

/// Whether it has ended, also by an error of the device, which the thread that trains reports.
fn has_ended(end: &CudaEvent) -> bool {
    let bound = end.context().bind_to_thread();
    bound.and_then(|()| end.try_is_complete()).unwrap_or(true)
}
