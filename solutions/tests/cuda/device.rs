//! A device to launch kernels on: the emulated grid, with tensors of each dtype.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use grid::{Arg, Buffer, Dim, Element, Error, Memory, Module, Source};
use half::{bf16, f16};

/// The dtype of a kernel's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    F32,
    Bf16,
    F16,
}

impl Type {
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::F16];

    /// The ending of a kernel's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// The values as this dtype holds them.
    pub fn rounded(self, values: &[f32]) -> Vec<f32> {
        let of = |v: f32| match self {
            Self::F32 => v,
            Self::Bf16 => bf16::from_f32(v).to_f32(),
            Self::F16 => f16::from_f32(v).to_f32(),
        };
        values.iter().map(|&v| of(v)).collect()
    }

    /// The tolerance of a result that is rounded to this dtype once, as a fraction of the greatest value.
    pub fn tolerance(self) -> f64 {
        match self {
            Self::F32 => 1e-5,
            Self::Bf16 => 1.0 / 256.0,
            Self::F16 => 1.0 / 1024.0,
        }
    }
}

/// A tensor on the device, half precision as its bits.
#[derive(Clone, Copy)]
pub enum Tensor {
    F32(Buffer<f32>),
    Bf16(Buffer<u16>),
    F16(Buffer<u16>),
}

impl Tensor {
    pub fn read(self) -> Arg {
        match self {
            Self::F32(b) => Arg::read(b),
            Self::Bf16(b) => Arg::read(b),
            Self::F16(b) => Arg::read(b),
        }
    }

    pub fn write(self) -> Arg {
        match self {
            Self::F32(b) => Arg::write(b),
            Self::Bf16(b) => Arg::write(b),
            Self::F16(b) => Arg::write(b),
        }
    }
}

/// A value that is passed to a kernel.
pub fn value<T: Element>(v: T) -> Arg {
    Arg::value(v)
}

/// Memory and the kernels of one source.
pub struct Device {
    pub memory: Memory,
    module: &'static Module,
}

/// The grid and the block of a launch, and its dynamic shared memory in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: usize,
}

impl Shape {
    /// `blocks` blocks of `threads`.
    pub fn of(blocks: u32, threads: u32) -> Self {
        Self::grid([blocks, 1, 1], [threads, 1, 1])
    }

    pub fn grid(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            shared: 0,
        }
    }
}

pub fn folder() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels").to_owned()
}

/// A source that one thread compiles while others wait for it.
type Compiled = Arc<OnceLock<Option<&'static Module>>>;

static MODULES: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);

impl Device {
    /// The kernels of the source `name`; none, and a line that says so, if this machine cannot compile them.
    pub fn with(name: &str) -> Option<Self> {
        let compiled = MODULES
            .lock()
            .unwrap()
            .entry(name.to_owned())
            .or_default()
            .clone();
        let module = *compiled.get_or_init(|| {
            let source = Source::file(format!("{}/{name}", folder())).include(folder());
            Self::compile(&source)
        });
        module.map(Self::of)
    }

    /// The kernels of a source, as [`Device::with`]. One at a time: the first one compiles the grid itself.
    pub fn compile(source: &Source) -> Option<&'static Module> {
        static COMPILING: Mutex<()> = Mutex::new(());
        let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        match source.compile() {
            Ok(module) => Some(Box::leak(Box::new(module))),
            Err(Error::NotRun(why)) => {
                println!("not run, because {why}");
                None
            }
            Err(wrong) => panic!("{wrong}"),
        }
    }

    pub fn of(module: &'static Module) -> Self {
        Self {
            memory: Memory::new(),
            module,
        }
    }

    /// The same memory with the kernels of another source.
    pub fn source(&mut self, name: &str) {
        self.module = Self::with(name).unwrap().module;
    }

    pub fn tensor(&mut self, values: &[f32], dtype: Type) -> Tensor {
        let bits = |of: fn(f32) -> u16| values.iter().map(|&v| of(v)).collect::<Vec<_>>();
        match dtype {
            Type::F32 => Tensor::F32(self.memory.upload(values)),
            Type::Bf16 => Tensor::Bf16(self.memory.upload(&bits(|v| bf16::from_f32(v).to_bits()))),
            Type::F16 => Tensor::F16(self.memory.upload(&bits(|v| f16::from_f32(v).to_bits()))),
        }
    }

    /// A tensor that a kernel has to write: NaN until then.
    pub fn output(&mut self, len: usize, dtype: Type) -> Tensor {
        self.tensor(&vec![f32::NAN; len], dtype)
    }

    pub fn values(&self, tensor: Tensor) -> Vec<f32> {
        let of =
            |b: Buffer<u16>, value: fn(u16) -> f32| self.memory.download(b).into_iter().map(value).collect();
        match tensor {
            Tensor::F32(b) => self.memory.download(b),
            Tensor::Bf16(b) => of(b, |bits| bf16::from_bits(bits).to_f32()),
            Tensor::F16(b) => of(b, |bits| f16::from_bits(bits).to_f32()),
        }
    }

    /// Runs a kernel; a fault fails the test.
    pub fn launch(&mut self, kernel: &str, shape: Shape, arguments: &[Arg]) {
        if let Err(fault) = self.try_launch(kernel, shape, arguments) {
            panic!("{kernel}: {fault}");
        }
    }

    pub fn try_launch(&mut self, kernel: &str, shape: Shape, arguments: &[Arg]) -> Result<(), String> {
        let (grid, block) = (Dim(shape.grid), Dim(shape.block));
        self.module
            .launch(kernel, grid, block, shape.shared, &mut self.memory, arguments)
            .map(|_| ())
            .map_err(|fault| fault.to_string())
    }
}
