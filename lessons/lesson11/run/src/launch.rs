//! What a kernel is launched with.

use anyhow::Result;

/// The kernels that those of the exercises are compared with.
pub const COMPARED: &str = include_str!("compared.cu");

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    Floats(&'a [f32]),
    Ints(&'a [i32]),
    /// Space for so many floats, which the kernel writes: the result.
    Output(usize),
    /// Space for so many ints, which the kernel writes, too.
    IntOutput(usize),
    Int(usize),
    Float(f32),
}
use Argument::{Floats, Int, Output};

/// A kernel with its grid, its block and its arguments.
pub struct Launch<'a> {
    pub kernel: &'static str,
    /// The text of its `.cu` file.
    pub text: String,
    pub grid: (u32, u32),
    pub block: (u32, u32),
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub arguments: Vec<Argument<'a>>,
}

/// The name of a kernel, and the text of its `.cu` file.
pub type Kernel = (&'static str, String);

/// Runs a launch somewhere, and returns the floats that it wrote.
pub type Run<'a> = dyn FnMut(&Launch) -> Result<Vec<f32>> + 'a;

impl<'a> Launch<'a> {
    /// Blocks of `block` threads that cover so many elements along x and along y.
    pub fn new(kernel: Kernel, of: (usize, usize), block: (u32, u32), arguments: &[Argument<'a>]) -> Self {
        let blocks = |n: usize, threads: u32| n.div_ceil(threads as usize) as u32;
        Self {
            kernel: kernel.0,
            text: kernel.1,
            grid: (blocks(of.0, block.0), blocks(of.1, block.1)),
            block,
            shared: 0,
            arguments: arguments.to_vec(),
        }
    }

    /// 11.2, and others that compute each element of x `[rows, columns]` from itself and values of its column.
    pub fn of_matrix(kernel: Kernel, x: &'a [f32], columns: usize, values: &[&'a [f32]]) -> Self {
        let rows = x.len() / columns;
        let mut arguments = vec![Floats(x)];
        arguments.extend(values.iter().map(|values| Floats(values)));
        arguments.extend([Output(x.len()), Int(rows), Int(columns)]);
        Self::new(kernel, (columns, rows), (32, 8), &arguments)
    }

    /// 11.5, and others with the same task: the transpose of x `[rows, columns]`.
    pub fn transpose(kernel: Kernel, x: &'a [f32], columns: usize) -> Self {
        let rows = x.len() / columns;
        let arguments = [Floats(x), Output(x.len()), Int(rows), Int(columns)];
        Self::new(kernel, (columns, rows), (32, 32), &arguments)
    }

    /// 11.6, and others with the same task: a `[m, k]` times b `[k, n]`.
    pub fn matmul(kernel: Kernel, a: &'a [f32], b: &'a [f32], k: usize) -> Self {
        let (m, n) = (a.len() / k, b.len() / k);
        let arguments = [Floats(a), Floats(b), Output(m * n), Int(m), Int(n), Int(k)];
        Self::new(kernel, (n, m), (16, 16), &arguments)
    }

    /// Bytes of all lists, once each: what the kernel must move at least.
    pub fn bytes(&self) -> usize {
        let values = self.arguments.iter().map(|argument| match *argument {
            Floats(values) => values.len(),
            Argument::Ints(values) => values.len(),
            Output(n) | Argument::IntOutput(n) => n,
            Int(_) | Argument::Float(_) => 0,
        });
        4 * values.sum::<usize>()
    }
}
