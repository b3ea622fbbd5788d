//! The emulated grid as a launcher: what a pass launches on a GPU runs here over CPU tensors, with every check of the grid.
//! If `CANOPY_TEST_DEVICE` names a GPU (`cuda:0`), the kernels run there in place of the grid, over its tensors.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex};

use bytemuck::{Pod, Zeroable};
use candle_core::{DType, Device, Error, Result, Storage, Tensor, WithDType, bail};
use canopy::kernels::device::{Argument, Grid, Launcher, TENSORS, launcher};
use grid::{Address, Arg, Buffer, Dim, Element, Memory, Module};
use half::{bf16, f16};

use crate::sources;

/// The device of the tensors under test: the CPU, or the GPU that `CANOPY_TEST_DEVICE` names.
pub fn device() -> &'static Device {
    static DEVICE: LazyLock<Device> = LazyLock::new(|| match std::env::var("CANOPY_TEST_DEVICE") {
        Ok(name) => canopy::device::choose(&name).unwrap().device,
        Err(_) => Device::Cpu,
    });
    &DEVICE
}

/// The emulated grid, or a GPU in its place.
#[derive(Clone, Default)]
pub struct EmulatedGrid {
    /// Launches on the GPU, if there is one.
    pub gpu: Option<Arc<dyn Launcher>>,
    /// Whether products of f32 matrices are rounded to tf32.
    pub tf32: bool,
    /// A source in place of the one with this name.
    pub changed: Option<(String, &'static Module)>,
    /// The kernels that were launched.
    pub launched: Arc<Mutex<HashSet<String>>>,
}

impl EmulatedGrid {
    /// None, and a line that says so, if this machine cannot compile the kernels.
    pub fn new() -> Option<Arc<Self>> {
        let gpu = launcher(device());
        if gpu.is_none() {
            sources::module("clouds.cu")?;
        }
        let grid = Self {
            gpu,
            ..Self::default()
        };
        Some(Arc::new(grid))
    }

    /// A grid that rounds to tf32 or does not, and notes its own launches.
    pub fn in_tf32(&self, tf32: bool) -> Arc<Self> {
        Arc::new(Self {
            tf32,
            launched: Arc::default(),
            ..self.clone()
        })
    }
}

impl std::fmt::Debug for EmulatedGrid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EmulatedGrid")
    }
}

impl Launcher for EmulatedGrid {
    fn launch(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        if let Some(gpu) = &self.gpu {
            gpu.launch(source, kernel, grid, arguments)?;
            self.launched.lock().unwrap().insert(kernel.to_owned());
            return Ok(());
        }
        let module = match &self.changed {
            Some((name, module)) if name == source => module,
            _ => sources::module(source).ok_or_else(|| Error::msg("the emulated grid does not run here"))?,
        };
        let reads_only = |index| module.reads_only(kernel, index);
        check_memory(kernel, arguments, &reads_only)?;
        let mut memory = Memory::new();
        let (mut passed, mut written) = (Vec::new(), Vec::new());
        for (i, argument) in arguments.iter().enumerate() {
            passed.push(match *argument {
                Argument::Tensor(t) => upload(&mut memory, t, (!reads_only(i)).then_some(&mut written))?,
                Argument::Table(rows) => table(&mut memory, rows, &mut written)?,
                Argument::Null => Arg::Null,
                Argument::I32(v) => Arg::value(v),
                Argument::U32(v) => Arg::value(v),
                Argument::I64(v) => Arg::value(v),
                Argument::U64(v) => Arg::value(v),
                Argument::F32(v) => Arg::value(v),
                Argument::F64(v) => Arg::value(v),
            });
        }
        let (blocks, threads) = (Dim(grid.blocks), Dim(grid.threads));
        module
            .launch(kernel, blocks, threads, grid.shared, &mut memory, &passed)
            .map_err(|fault| Error::msg(format!("{kernel}: {fault}")))?;
        self.launched.lock().unwrap().insert(kernel.to_owned());
        written.into_iter().try_for_each(|back| back(&memory))
    }

    /// NaN, or the least integer: values that no test expects.
    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        if let Some(gpu) = &self.gpu {
            return gpu.output(shape, dtype);
        }
        match dtype {
            DType::U32 => Tensor::full(u32::MAX, shape, &Device::Cpu),
            DType::I32 => Tensor::full(i32::MIN, shape, &Device::Cpu),
            DType::I64 => Tensor::full(i64::MIN, shape, &Device::Cpu),
            dtype => Tensor::full(f32::NAN, shape, &Device::Cpu)?.to_dtype(dtype),
        }?
        .copy()
    }

    fn tf32(&self) -> bool {
        self.tf32
    }
}

/// Here each argument has memory of its own. On a GPU a tensor that is passed twice has not.
fn check_memory(kernel: &str, arguments: &[Argument], reads_only: &dyn Fn(usize) -> bool) -> Result<()> {
    let mut homes: HashMap<(usize, usize), bool> = HashMap::new();
    let tensors = arguments
        .iter()
        .enumerate()
        .flat_map(|(i, argument)| match argument {
            Argument::Tensor(t) => vec![(*t, !reads_only(i))],
            Argument::Table(rows) => rows.iter().flatten().flatten().map(|t| (*t, true)).collect(),
            _ => Vec::new(),
        });
    for (tensor, write) in tensors {
        if homes
            .insert(home(tensor), write)
            .is_some_and(|before| before || write)
        {
            bail!("{kernel}: a tensor that it writes is passed twice");
        }
    }
    Ok(())
}

/// The address of a tensor's storage, and where the tensor begins in it.
fn home(t: &Tensor) -> (usize, usize) {
    let (storage, layout) = t.storage_and_layout();
    (
        std::ptr::from_ref::<Storage>(&*storage).addr(),
        layout.start_offset(),
    )
}

/// One parameter, as in multi_tensor.cuh.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Parameter {
    of: [Address; 4],
    n: u64,
}

/// The table of a launch, which is one of its parameters.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Tensors([Parameter; TENSORS]);
impl Element for Tensors {}

fn table(memory: &mut Memory, rows: &[[Option<&Tensor>; 4]], written: &mut Vec<Back>) -> Result<Arg> {
    let mut tensors = Tensors::zeroed();
    for (parameter, row) in tensors.0.iter_mut().zip(rows) {
        for (address, t) in parameter.of.iter_mut().zip(row) {
            if let Some(t) = t {
                let buffer = copy::<f32>(memory, t)?;
                *address = memory.address(buffer, 0);
                written.push(back(t, buffer));
                parameter.n = t.elem_count() as u64;
            }
        }
    }
    Ok(Arg::value(tensors))
}

/// Copies what a kernel wrote into a tensor.
type Back = Box<dyn FnOnce(&Memory) -> Result<()>>;

fn upload(memory: &mut Memory, t: &Tensor, written: Option<&mut Vec<Back>>) -> Result<Arg> {
    match t.dtype() {
        DType::F32 => upload_as::<f32>(memory, t, written),
        DType::F64 => upload_as::<f64>(memory, t, written),
        DType::BF16 => upload_as::<bf16>(memory, t, written),
        DType::F16 => upload_as::<f16>(memory, t, written),
        DType::U32 => upload_as::<u32>(memory, t, written),
        DType::I32 => upload_as::<i32>(memory, t, written),
        DType::I64 => upload_as::<i64>(memory, t, written),
        dtype => bail!("no kernel takes a tensor of {dtype:?}"),
    }
}

fn upload_as<T: WithDType + Element>(
    memory: &mut Memory,
    t: &Tensor,
    written: Option<&mut Vec<Back>>,
) -> Result<Arg> {
    let buffer = copy::<T>(memory, t)?;
    let Some(written) = written else {
        return Ok(Arg::read(buffer));
    };
    written.push(back(t, buffer));
    Ok(Arg::write(buffer))
}

fn copy<T: WithDType + Element>(memory: &mut Memory, t: &Tensor) -> Result<Buffer<T>> {
    if !t.is_contiguous() {
        bail!("a kernel's argument has the strides {:?}", t.stride());
    }
    Ok(memory.upload(&t.flatten_all()?.to_vec1::<T>()?))
}

fn back<T: WithDType + Element>(t: &Tensor, buffer: Buffer<T>) -> Back {
    let to = t.clone();
    Box::new(move |memory| {
        let values = Tensor::new(memory.download(buffer), &Device::Cpu)?;
        to.flatten_all()?.slice_set(&values, 0, 0)
    })
}
