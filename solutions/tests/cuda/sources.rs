//! The dtypes of the kernels, and their compiled sources.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use candle_core::DType;
use grid::{Error, Module, Source};
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

    /// As candle's dtype.
    pub fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
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

/// The folder of the sources, or a changed copy of it.
pub fn folder() -> String {
    std::env::var("CANOPY_TEST_KERNELS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels").to_owned())
}

/// A source that one thread compiles while others wait for it.
type Compiled = Arc<OnceLock<Option<&'static Module>>>;

static MODULES: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);

/// The kernels of the source `name`; none, and a line that says so, if this machine cannot compile them.
pub fn module(name: &str) -> Option<&'static Module> {
    let compiled = MODULES
        .lock()
        .unwrap()
        .entry(name.to_owned())
        .or_default()
        .clone();
    *compiled.get_or_init(|| compile(&Source::file(format!("{}/{name}", folder())).include(folder())))
}

/// The kernels of a source, as [`module`]. One at a time: the first one compiles the grid itself.
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
