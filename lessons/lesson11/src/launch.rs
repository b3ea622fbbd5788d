//! Launches: a kernel with its grid, its block and its arguments, and what it does on the emulated grid.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, OnceLock, PoisonError},
};

use grid::{Arg, Error, Fault, Memory, Module, Source, Trace};

/// Compiles the text of a kernel, if it was not compiled before. A module is kept until the process ends.
pub fn compiled(name: &str, text: &str) -> &'static Result<Module, Error> {
    type Modules = HashMap<String, &'static OnceLock<Result<Module, Error>>>;
    static MODULES: LazyLock<Mutex<Modules>> = LazyLock::new(Mutex::default);
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let module = *modules
        .entry(text.to_owned())
        .or_insert_with(|| Box::leak(Box::default()));
    drop(modules);
    module.get_or_init(|| Source::text(&path(name), text).compile())
}

/// The file in which a student writes a kernel.
pub fn path(name: &str) -> String {
    format!("exercises/lesson11/src/{name}.cu")
}

/// What is left to do in a text: `11.1: the index of this thread, …`.
pub fn to_do(text: &str) -> Option<&str> {
    let mut left = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("// TODO "));
    left.find(|what| what.starts_with("11."))
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A list of floats, which the kernel reads.
    Floats(&'a [f32]),
    /// A list of ints, which the kernel reads.
    Ints(&'a [i32]),
    /// Space for so many floats, which the kernel writes: the result.
    Output(usize),
    /// Space for so many ints, which the kernel writes, too.
    IntOutput(usize),
    /// An int.
    Int(usize),
    /// A float.
    Float(f32),
}
use Argument::{Float, Floats, Int, IntOutput, Ints, Output};

/// A kernel with its grid, its block and its arguments.
pub struct Launch<'a> {
    /// The name of the kernel.
    pub kernel: &'static str,
    /// The text of its `.cu` file.
    pub text: String,
    /// Blocks along x and along y.
    pub grid: (u32, u32),
    /// Threads of a block along x and along y.
    pub block: (u32, u32),
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// Its arguments, in order.
    pub arguments: Vec<Argument<'a>>,
}

/// The name of a kernel, and the text of its `.cu` file.
pub type Kernel = (&'static str, String);

/// What a launch accessed and wrote.
#[derive(Default)]
pub struct Ran {
    /// Its accesses.
    pub trace: Trace,
    /// The floats that it wrote.
    pub floats: Vec<f32>,
    /// The ints that it wrote.
    pub ints: Vec<i32>,
}

impl<'a> Launch<'a> {
    /// Blocks of `block` threads that cover so many elements along x and along y.
    pub fn new(kernel: Kernel, of: (usize, usize), block: (u32, u32), arguments: &[Argument<'a>]) -> Self {
        let blocks = |n: usize, threads: u32| n.div_ceil(threads as usize) as u32;
        // The name of canopy's own kernel says its dtype.
        let names = ["max_points_f32", kernel.0];
        Self {
            kernel: names[usize::from(!kernel.1.contains("max_points_##NAME"))],
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

    /// 11.4: the maxima of x `[points, n]` over the clouds that begin and end at `starts`.
    pub fn max_points(kernel: Kernel, x: &'a [f32], starts: &'a [i32], n: usize) -> Self {
        let clouds = starts.len() - 1;
        let (y, at) = (Output(clouds * n), IntOutput(clouds * n));
        let arguments = [Floats(x), Ints(starts), y, at, Int(n)];
        Self::new(kernel, (n, 8 * clouds), (32, 8), &arguments)
    }

    /// Bytes of all lists, once each: what the kernel must move at least.
    pub fn bytes(&self) -> usize {
        let values = self.arguments.iter().map(|argument| match *argument {
            Floats(values) => values.len(),
            Ints(values) => values.len(),
            Output(n) | IntOutput(n) => n,
            Int(_) | Float(_) => 0,
        });
        4 * values.sum::<usize>()
    }

    /// Runs the kernel once. Its outputs contain NaN and -1 before: what is not written is seen.
    ///
    /// # Errors
    /// Returns what the kernel does wrong.
    pub fn run(&self, module: &Module) -> Result<Ran, Fault> {
        let mut memory = Memory::new();
        memory.trace();
        let (mut floats, mut ints) = (None, None);
        let arguments = self.arguments.iter().map(|argument| match *argument {
            Floats(values) => Arg::read(memory.upload(values)),
            Ints(values) => Arg::read(memory.upload(values)),
            Output(n) => Arg::write(*floats.insert(memory.upload(&vec![f32::NAN; n]))),
            IntOutput(n) => Arg::write(*ints.insert(memory.upload(&vec![-1; n]))),
            Int(n) => Arg::value(n as i32),
            Float(value) => Arg::value(value),
        });
        let arguments: Vec<Arg> = arguments.collect();
        let (grid, block, shared) = (self.grid, self.block, self.shared);
        let ran = module.launch(self.kernel, grid, block, shared, &mut memory, &arguments)?;
        Ok(Ran {
            trace: ran.trace,
            floats: floats.map_or(Vec::new(), |buffer| memory.download(buffer)),
            ints: ints.map_or(Vec::new(), |buffer| memory.download(buffer)),
        })
    }
}
