//! What a launch consists of, and who runs it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var, bail};

/// Runs the kernels of `solutions/src/kernels` over tensors of one device.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// Queues one launch of `kernel`, a function of the source `source` (a path relative to `kernels`). Does not wait for it.
    /// A tensor that the kernel writes shares its memory with no other argument.
    fn launch(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()>;

    /// A tensor with unspecified values, which a kernel will write.
    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor>;

    /// Whether products of f32 matrices are rounded to tf32.
    fn tf32(&self) -> bool {
        false
    }
}

/// Tensors of an [`Argument::Table`] at most, as in `multi_tensor.cuh`.
pub const TENSORS: usize = 96;

/// The blocks of a launch, the threads of a block, and its dynamic shared memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks along x, y and z.
    pub blocks: [u32; 3],
    /// Threads along x, y and z.
    pub threads: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared: usize,
}

impl Grid {
    /// Without dynamic shared memory.
    pub(super) fn new(blocks: [usize; 3], threads: [u32; 3]) -> Self {
        Self {
            blocks: blocks.map(|n| n as u32),
            threads,
            shared: 0,
        }
    }

    /// `blocks` blocks of `threads` threads.
    pub(super) fn of(blocks: usize, threads: u32) -> Self {
        Self::new([blocks, 1, 1], [threads, 1, 1])
    }

    /// A thread for each of `n` elements.
    pub(super) fn each(n: usize) -> Self {
        Self::of(n.div_ceil(64), 64)
    }

    /// For kernels that loop over `n` elements: enough threads to fill a GPU, at most one an element.
    pub(super) fn over(n: usize) -> Self {
        Self::of(n.div_ceil(256).min(2048), 256)
    }
}

/// An argument of a kernel. Its parameter in the `.cu` file says what the kernel does with a tensor: it reads what is `const`,
/// and may write all else. The emulated grid compares number and types of the arguments with the parameters.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A contiguous tensor.
    Tensor(&'a Tensor),
    /// A null pointer.
    Null,
    /// `Tensors` of `multi_tensor.cuh`, by value: at most [`TENSORS`] rows of four tensors of equal shape, all contiguous
    /// f32, which the kernel may write to.
    Table(&'a [[Option<&'a Tensor>; 4]]),
    /// `int`
    I32(i32),
    /// `unsigned`
    U32(u32),
    /// `long long`
    I64(i64),
    /// `unsigned long long`
    U64(u64),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
}

impl<'a> From<&'a Tensor> for Argument<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a> From<&'a Var> for Argument<'a> {
    fn from(var: &'a Var) -> Self {
        Self::Tensor(var.as_tensor())
    }
}

impl<'a> From<Option<&'a Tensor>> for Argument<'a> {
    fn from(tensor: Option<&'a Tensor>) -> Self {
        tensor.map_or(Self::Null, Self::Tensor)
    }
}

impl From<usize> for Argument<'_> {
    fn from(size: usize) -> Self {
        // A tensor of more rows does not fit into a GPU's memory.
        Self::I32(size.try_into().unwrap_or(i32::MAX))
    }
}

impl From<bool> for Argument<'_> {
    fn from(flag: bool) -> Self {
        Self::I32(flag.into())
    }
}

/// `From` for the types of numbers.
macro_rules! numbers {
    ($($form:ident: $type:ty),*) => {
        $(impl From<$type> for Argument<'_> {
            fn from(value: $type) -> Self {
                Self::$form(value)
            }
        })*
    };
}
numbers!(U32: u32, I64: i64, U64: u64, F32: f32, F64: f64);

/// The arguments of a launch, in the order of the kernel's parameters and by their names: tensors, sizes and flags (`int`),
/// and numbers.
macro_rules! args {
    ($($argument:expr),* $(,)?) => { [$($crate::kernels::device::launch::Argument::from($argument)),*] };
}
pub(super) use args;

pub(super) type Kernels = Arc<dyn Launcher>;

impl dyn Launcher {
    /// Launches the form of `kernel` for tensors of `dtype`.
    pub(super) fn launch_for(
        &self,
        dtype: DType,
        source: &str,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
    ) -> Result<()> {
        let kernel = format!("{kernel}_{}", suffix(dtype)?);
        self.launch(source, &kernel, grid, arguments)
    }

    /// As [`Self::output`], of the shape and dtype of `x`.
    pub(super) fn output_like(&self, x: &Tensor) -> Result<Tensor> {
        self.output(x.dims(), x.dtype())
    }
}

/// The ending of the name of a kernel for tensors of `dtype`.
pub(super) fn suffix(dtype: DType) -> Result<&'static str> {
    Ok(match dtype {
        DType::F32 => "f32",
        DType::BF16 => "bf16",
        DType::F16 => "f16",
        _ => bail!("expected a tensor of f32, bf16 or f16, got {dtype:?}"),
    })
}

/// A tensor's values as a kernel takes them.
pub(super) fn plain(x: &Tensor) -> Result<Tensor> {
    Ok(x.contiguous()?.detach())
}

/// The first row of each cloud, and the end of the last one: `[clouds + 1]`.
pub(super) fn starts(clouds: &[Range<usize>], device: &Device) -> Result<Tensor> {
    let ends = clouds.iter().map(|cloud| cloud.end as i32);
    Tensor::new(std::iter::once(0).chain(ends).collect::<Vec<_>>(), device)
}

/// Rows of the longest cloud.
pub(super) fn longest(clouds: &[Range<usize>]) -> usize {
    clouds.iter().map(Range::len).max().unwrap_or(0)
}
