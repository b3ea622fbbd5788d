//! Launches on an NVIDIA GPU, on the stream of candle's device.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::cuda_backend::cudarc::driver::{
    CudaStream, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg, SyncOnDrop,
    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
};
use candle_core::cuda_backend::{CudaDevice, CudaStorageSlice, WrapErr};
use candle_core::{CudaStorage, DType, Device, Layout, Result, Storage, Tensor, bail};

use super::launch::{Argument, Grid, Launcher, TENSORS};
use crate::kernels::cuda;

/// Taken from setting a function's limit of shared memory until its launch is queued.
static LIMIT: Mutex<()> = Mutex::new(());

/// A GPU. All launches are queued on the stream of candle's device.
#[derive(Debug)]
pub(super) struct Cuda(pub CudaDevice);

impl Launcher for Cuda {
    fn launch(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        let function = cuda::kernel(&self.0, source, kernel)?;
        // A block may have 48 KiB without it, of which the kernel's own arrays take a part. The limit holds for the function: until
        // this launch is queued, no other thread may set another one.
        let _limit = (grid.shared > 0).then(|| LIMIT.lock().unwrap_or_else(PoisonError::into_inner));
        if grid.shared > 0 {
            let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(attribute, grid.shared as i32).w()?;
        }
        let stream = self.0.cuda_stream();
        let tensors = arguments.iter().flat_map(tensors_of);
        let locked: Vec<_> = tensors.map(Tensor::storage_and_layout).collect();
        // The guards record that the launch reads the tensors: until it is queued, they must live.
        let addresses = locked
            .iter()
            .map(|(storage, layout)| address(storage, layout, &stream))
            .collect::<Result<Vec<_>>>()?;
        let mut next = addresses.iter().map(|(address, _)| *address);
        let resolved = arguments
            .iter()
            .map(|argument| resolve(argument, &mut next))
            .collect::<Result<Vec<_>>>()?;
        let mut builder = stream.launch_builder(&function);
        for argument in &resolved {
            match argument {
                Resolved::Word(word) => builder.arg(word),
                Resolved::Table(table) => builder.arg(&**table),
            };
        }
        let [x, y, z] = grid.blocks;
        let [i, j, k] = grid.threads;
        let config = LaunchConfig {
            grid_dim: (x, y, z),
            block_dim: (i, j, k),
            shared_mem_bytes: grid.shared as u32,
        };
        // SAFETY: the tests launch every kernel through these operators on the emulated grid, which checks the types of its
        // arguments and that it stays within its tensors. Tensors that it writes are used on this stream alone.
        unsafe { builder.launch(config) }.w()?;
        Ok(())
    }

    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        // SAFETY: a kernel writes every value before one is read: on the emulated grid, the tests find values that it left.
        unsafe { Tensor::empty(shape, dtype, &Device::Cuda(self.0.clone())) }
    }

    fn tf32(&self) -> bool {
        candle_core::cuda::gemm_reduced_precision_f32()
    }
}

/// The tensors of an argument, in order.
fn tensors_of<'a>(argument: &Argument<'a>) -> Vec<&'a Tensor> {
    match argument {
        Argument::Tensor(t) => vec![t],
        Argument::Table(rows) => rows.iter().flatten().flatten().copied().collect(),
        _ => Vec::new(),
    }
}

/// `Tensors` of `multi_tensor.cuh`: of each tensor four addresses and the number of its elements.
#[repr(C)]
struct Tensors([[u64; 5]; TENSORS]);

// SAFETY: as in C++, it consists of 64-bit words alone.
unsafe impl DeviceRepr for Tensors {}

/// An argument as the launch takes it. It reads as many bytes of a word as the parameter has, and GPUs' hosts are little-endian.
enum Resolved {
    Word(u64),
    Table(Box<Tensors>),
}

/// Takes the addresses of the argument's tensors from `addresses`.
fn resolve(argument: &Argument, addresses: &mut impl Iterator<Item = u64>) -> Result<Resolved> {
    Ok(Resolved::Word(match *argument {
        Argument::Tensor(_) => addresses.next().unwrap_or_default(),
        Argument::Null => 0,
        Argument::I32(v) => v.cast_unsigned().into(),
        Argument::U32(v) => v.into(),
        Argument::I64(v) => v.cast_unsigned(),
        Argument::U64(v) => v,
        Argument::F32(v) => v.to_bits().into(),
        Argument::F64(v) => v.to_bits(),
        Argument::Table(rows) => {
            let mut table = Box::new(Tensors([[0; 5]; TENSORS]));
            if rows.len() > TENSORS {
                bail!("a launch takes {TENSORS} tensors, got {}", rows.len());
            }
            for (words, row) in table.0.iter_mut().zip(rows) {
                for (word, tensor) in words.iter_mut().zip(row) {
                    *word = tensor.and_then(|_| addresses.next()).unwrap_or_default();
                }
                words[4] = row.iter().flatten().next().map_or(0, |t| t.elem_count() as u64);
            }
            return Ok(Resolved::Table(table));
        }
    }))
}

/// The address of a contiguous tensor's first value, and what records that `stream` uses it.
pub(crate) fn address<'a>(
    storage: &'a Storage,
    layout: &Layout,
    stream: &'a Arc<CudaStream>,
) -> Result<(u64, SyncOnDrop<'a>)> {
    let (Storage::Cuda(CudaStorage { slice, .. }), Some((from, _))) = (storage, layout.contiguous_offsets())
    else {
        bail!(
            "expected a contiguous tensor on the GPU, got strides {:?}",
            layout.stride()
        );
    };
    let ((address, guard), size) = match slice {
        CudaStorageSlice::F32(s) => (s.device_ptr(stream), 4),
        CudaStorageSlice::F64(s) => (s.device_ptr(stream), 8),
        CudaStorageSlice::BF16(s) => (s.device_ptr(stream), 2),
        CudaStorageSlice::F16(s) => (s.device_ptr(stream), 2),
        CudaStorageSlice::U32(s) => (s.device_ptr(stream), 4),
        CudaStorageSlice::I32(s) => (s.device_ptr(stream), 4),
        CudaStorageSlice::I64(s) => (s.device_ptr(stream), 8),
        _ => bail!("no kernel takes a tensor of this dtype"),
    };
    Ok((address + (from * size) as u64, guard))
}
