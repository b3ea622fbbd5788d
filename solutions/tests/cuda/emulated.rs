//! The emulated grid as a launcher: what a pass launches on a GPU runs here over CPU tensors, with every check of the grid.
//! If `CANOPY_TEST_DEVICE` names a GPU (`cuda:0`), the kernels run there in place of the grid, over its tensors.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};
use candle_core::{DType, Device, Error, Result, Storage, Tensor, WithDType, bail};
use canopy::kernels::device::{Argument, Grid, Launcher, TENSORS, launcher};
use grid::{Address, Arg, Buffer, Dim, Element, Memory, Module, Source};
use half::{bf16, f16};

/// The device of the tensors under test: the CPU, or the GPU that `CANOPY_TEST_DEVICE` names.
pub fn device() -> &'static Device {
    static DEVICE: LazyLock<Device> = LazyLock::new(|| match std::env::var("CANOPY_TEST_DEVICE") {
        Ok(name) => canopy::device::choose(&name).unwrap().device,
        Err(_) => Device::Cpu,
    });
    &DEVICE
}

/// The folder of the sources, or a changed copy of it.
pub fn folder() -> String {
    std::env::var("CANOPY_TEST_KERNELS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels").to_owned())
}

/// The kernels of the source `name`; none, and a line that says so, if this machine cannot compile them.
fn module(name: &str) -> Option<&'static Module> {
    static MODULES: LazyLock<Mutex<HashMap<String, Option<&'static Module>>>> = LazyLock::new(Mutex::default);
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || compile(&Source::file(format!("{}/{name}", folder())).include(folder()));
    *modules.entry(name.to_owned()).or_insert_with(new)
}

/// The kernels of a source, as [`module`]. One at a time: the first one compiles the grid itself.
pub fn compile(source: &Source) -> Option<&'static Module> {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    match source.compile() {
        Ok(module) => Some(Box::leak(Box::new(module))),
        Err(grid::Error::NotRun(why)) => {
            println!("not run, because {why}");
            None
        }
        Err(wrong) => panic!("{wrong}"),
    }
}

/// What a search with the filter leaves.
pub struct Search {
    /// Of each cloud and channel.
    pub keys: Vec<i64>,
    /// How many products the filter left.
    pub candidates: u32,
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
    /// Candidates for which the filter's list has room; as many as the operator has if none.
    pub capacity: Option<u32>,
    /// What the last search for a maximum in f32 left.
    pub search: Arc<Mutex<Option<Search>>>,
    /// The kernels that were launched.
    pub launched: Arc<Mutex<HashSet<String>>>,
}

impl EmulatedGrid {
    /// None, and a line that says so, if this machine cannot compile the kernels.
    pub fn new() -> Option<Arc<Self>> {
        let gpu = launcher(device());
        if gpu.is_none() {
            module("clouds.cu")?;
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

    /// Whether any kernel was launched.
    pub fn is_used(&self) -> bool {
        !self.launched.lock().unwrap().is_empty()
    }

    fn emulate(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        let module = match &self.changed {
            Some((name, module)) if name == source => module,
            _ => module(source).ok_or_else(|| Error::msg("the emulated grid does not run here"))?,
        };
        let mut memory = Uploads::default();
        let mut passed = Vec::new();
        for (i, argument) in arguments.iter().enumerate() {
            passed.push(match *argument {
                Argument::Tensor(t) => memory.tensor(t, !module.reads_only(kernel, i))?,
                Argument::Table(rows) => memory.table(rows)?,
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
            .launch(kernel, blocks, threads, grid.shared, &mut memory.memory, &passed)
            .map_err(|fault| Error::msg(format!("{kernel}: {fault}")))?;
        memory.written.iter().try_for_each(|back| back(&memory.memory))
    }

    /// Fails if one of `kernels` was not launched.
    pub fn assert_launched(&self, kernels: &[&str]) {
        let launched = self.launched.lock().unwrap();
        for kernel in kernels {
            assert!(launched.contains(*kernel), "{kernel} was not launched");
        }
    }
}

impl std::fmt::Debug for EmulatedGrid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EmulatedGrid")
    }
}

impl Launcher for EmulatedGrid {
    fn launch(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        self.launched.lock().unwrap().insert(kernel.to_owned());
        let mut arguments = arguments.to_vec();
        for argument in &mut arguments {
            // Nothing else of a search is an unsigned number.
            if let (Argument::U32(v), Some(capacity)) = (argument, self.capacity) {
                *v = capacity;
            }
        }
        match &self.gpu {
            Some(gpu) => gpu.launch(source, kernel, grid, &arguments)?,
            None => self.emulate(source, kernel, grid, &arguments)?,
        }
        // The operands, the keys, three sizes, the number of candidates, and the capacity of their list.
        if let ("widest_f32", &[.., Argument::Tensor(keys), _, _, _, Argument::Tensor(count), _]) =
            (kernel, &arguments[..])
        {
            *self.search.lock().unwrap() = Some(Search {
                keys: keys.flatten_all()?.to_vec1()?,
                candidates: count.to_scalar()?,
            });
        }
        Ok(())
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

/// Copies what a kernel wrote back into a tensor.
type WriteBack = Box<dyn Fn(&Memory) -> Result<()>>;

/// The tensors of a launch, copied to the grid's memory.
#[derive(Default)]
struct Uploads {
    memory: Memory,
    /// Whether the kernel may write to a tensor, by the tensor's storage and where it begins in it.
    homes: HashMap<(usize, usize), bool>,
    written: Vec<WriteBack>,
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

impl Uploads {
    fn tensor(&mut self, t: &Tensor, write: bool) -> Result<Arg> {
        match t.dtype() {
            DType::F32 => self.buffer::<f32>(t, write).map(|b| argument(b, write)),
            DType::F64 => self.buffer::<f64>(t, write).map(|b| argument(b, write)),
            DType::BF16 => self.buffer::<bf16>(t, write).map(|b| argument(b, write)),
            DType::F16 => self.buffer::<f16>(t, write).map(|b| argument(b, write)),
            DType::U32 => self.buffer::<u32>(t, write).map(|b| argument(b, write)),
            DType::I32 => self.buffer::<i32>(t, write).map(|b| argument(b, write)),
            DType::I64 => self.buffer::<i64>(t, write).map(|b| argument(b, write)),
            dtype => bail!("no kernel takes a tensor of {dtype:?}"),
        }
    }

    fn table(&mut self, rows: &[[Option<&Tensor>; 4]]) -> Result<Arg> {
        let mut tensors = Tensors::zeroed();
        for (parameter, row) in tensors.0.iter_mut().zip(rows) {
            for (address, t) in parameter.of.iter_mut().zip(row) {
                if let Some(t) = t {
                    let buffer = self.buffer::<f32>(t, true)?;
                    *address = self.memory.address(buffer, 0);
                    parameter.n = t.elem_count() as u64;
                }
            }
        }
        Ok(Arg::value(tensors))
    }

    fn buffer<T: WithDType + Element>(&mut self, t: &Tensor, write: bool) -> Result<Buffer<T>> {
        if !t.is_contiguous() {
            bail!("a kernel's argument has the strides {:?}", t.stride());
        }
        let (storage, layout) = t.storage_and_layout();
        let home = (
            std::ptr::from_ref::<Storage>(&*storage).addr(),
            layout.start_offset(),
        );
        drop(storage);
        // Here each argument has memory of its own. On a GPU a tensor that is passed twice has not.
        let before = self.homes.insert(home, write);
        if before.is_some_and(|before| before || write) {
            bail!("a tensor that a kernel writes is passed twice");
        }
        let buffer = self.memory.upload(&t.flatten_all()?.to_vec1::<T>()?);
        if write {
            let to = t.clone();
            self.written.push(Box::new(move |memory| {
                let values = Tensor::new(memory.download(buffer), &Device::Cpu)?;
                to.flatten_all()?.slice_set(&values, 0, 0)
            }));
        }
        Ok(buffer)
    }
}

fn argument<T: Element>(buffer: Buffer<T>, write: bool) -> Arg {
    match write {
        true => Arg::write(buffer),
        false => Arg::read(buffer),
    }
}
