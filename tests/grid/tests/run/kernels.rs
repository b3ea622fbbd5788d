//! Each kernel of `tests/kernels` with an input, checked against the same computation in Rust.

use std::fmt::Debug;

use grid::{Arg, Dim, Element, Fault, Memory, Module};
use half::bf16;

/// Why a kernel is not right.
#[derive(Debug)]
pub enum Wrong {
    Fault(Fault),
    /// The results differ.
    Values(String),
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Wrong::Fault(fault)
    }
}

/// Runs a kernel with inputs of an odd size that grows with `size`.
pub type Run = fn(&Module, usize) -> Result<(), Wrong>;

/// Each source with its run.
pub const RUNS: [(&str, Run); 11] = [
    ("relu.cu", relu_of_all),
    ("reduce.cu", reduce),
    ("warp_sum.cu", warp_sum),
    ("matmul.cu", matmul),
    ("transpose.cu", transpose),
    ("histogram.cu", histogram),
    ("scale.cu", scale),
    ("last_block.cu", last_block),
    ("neighbour.cu", neighbour),
    ("wmma.cu", wmma),
    ("tf32.cu", tf32),
];

/// Small integers, whose sums are exact.
fn values(n: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(n as u64);
    (0..n).map(|_| random.i32(-4..5) as f32).collect()
}

fn equal<T: PartialEq + Debug>(found: &[T], expected: &[T]) -> Result<(), Wrong> {
    assert_eq!(found.len(), expected.len());
    match (0..found.len()).find(|&i| found[i] != expected[i]) {
        None => Ok(()),
        Some(i) => Err(Wrong::Values(format!(
            "element {i} is {:?}, not {:?}",
            found[i], expected[i]
        ))),
    }
}

fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let element = |i: usize| (0..k).map(|x| a[i / n * k + x] * b[x * n + i % n]).sum();
    (0..m * n).map(element).collect()
}

/// Runs a kernel of one input, one output and their sizes.
fn run_one<T: Element, U: Element + PartialEq + Debug>(
    (module, kernel): (&Module, &str),
    grid: impl Into<Dim>,
    (block, shared_bytes): (impl Into<Dim>, usize),
    x: &[T],
    sizes: &[usize],
    expected: &[U],
) -> Result<(), Wrong> {
    let mut memory = Memory::new();
    let (input, y) = (memory.upload(x), memory.zeros::<U>(expected.len()));
    let mut arguments = vec![Arg::read(input), Arg::write(y)];
    arguments.extend(sizes.iter().map(|size| Arg::value(*size as i32)));
    module.launch(kernel, grid, block, shared_bytes, &mut memory, &arguments)?;
    equal(&memory.download(y), expected)
}

// ANCHOR: relu
fn relu(x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = x.max(0.0);
    }
}
// ANCHOR_END: relu

fn relu_of_all(module: &Module, size: usize) -> Result<(), Wrong> {
    let x = values(300 * size + 7);
    let mut expected = vec![9.0; x.len()];
    relu(&x, &mut expected);
    let blocks = x.len().div_ceil(256) as u32;
    run_one((module, "relu"), blocks, (256, 0), &x, &[x.len()], &expected)
}

fn reduce(module: &Module, size: usize) -> Result<(), Wrong> {
    let x = values(300 * size + 7);
    let expected: Vec<f32> = x.chunks(256).map(|c| c.iter().sum()).collect();
    let blocks = expected.len() as u32;
    run_one((module, "reduce"), blocks, (256, 0), &x, &[x.len()], &expected)
}

fn warp_sum(module: &Module, size: usize) -> Result<(), Wrong> {
    let (rows, n) = (3 * size, 20 * size + 1);
    let x = values(rows * n);
    let expected: Vec<f32> = x.chunks(n).map(|c| c.iter().sum()).collect();
    let blocks = rows.div_ceil(4) as u32;
    run_one(
        (module, "warp_sum_rows"),
        blocks,
        ((32, 4), 0),
        &x,
        &[rows, n],
        &expected,
    )
}

fn matmul(module: &Module, size: usize) -> Result<(), Wrong> {
    let mut memory = Memory::new();
    let sizes @ [m, n, k] = [17 * size, 15 * size, 19 * size];
    let (a, b) = (values(m * k), values(k * n));
    let (left, right, c) = (memory.upload(&a), memory.upload(&b), memory.zeros::<f32>(m * n));
    let sizes_of = sizes.map(|s| Arg::value(s as i32));
    let arguments = [&[Arg::read(left), Arg::read(right), Arg::write(c)], &sizes_of[..]].concat();
    let blocks = (n.div_ceil(16) as u32, m.div_ceil(16) as u32);
    module.launch("matmul", blocks, (16, 16), 0, &mut memory, &arguments)?;
    equal(&memory.download(c), &product(&a, &b, sizes))
}

fn transpose(module: &Module, size: usize) -> Result<(), Wrong> {
    let (rows, columns) = (13 * size, 21 * size);
    let x = values(rows * columns);
    let expected: Vec<f32> = (0..x.len()).map(|i| x[i % rows * columns + i / rows]).collect();
    let blocks = (columns.div_ceil(16) as u32, rows.div_ceil(16) as u32);
    let block = ((16, 16), 16 * 17 * 4);
    run_one(
        (module, "transpose"),
        blocks,
        block,
        &x,
        &[rows, columns],
        &expected,
    )
}

fn histogram(module: &Module, size: usize) -> Result<(), Wrong> {
    let x: Vec<u8> = values(333 * size).iter().map(|v| (v + 4.0) as u8 % 8).collect();
    let expected = [0, 1, 2, 3, 4, 5, 6, 7].map(|v| x.iter().filter(|x| **x == v).count() as u32);
    run_one((module, "histogram"), 3, (64, 0), &x, &[x.len()], &expected)
}

fn scale(module: &Module, size: usize) -> Result<(), Wrong> {
    let x = values(125 * size + 2);
    let expected: Vec<f32> = x.iter().map(|v| 2.0 * v).collect();
    let blocks = x.len().div_ceil(256) as u32;
    run_one((module, "scale"), blocks, (64, 0), &x, &[x.len()], &expected)
}

fn last_block(module: &Module, size: usize) -> Result<(), Wrong> {
    let mut memory = Memory::new();
    let (x, blocks) = (values(99 * size), 3);
    let (input, y) = (memory.upload(&x), memory.zeros::<f32>(1));
    let (partial, arrived) = (memory.zeros::<f32>(blocks), memory.zeros::<u32>(1));
    let buffers = [
        Arg::read(input),
        Arg::write(partial),
        Arg::write(arrived),
        Arg::write(y),
    ];
    let arguments = [&buffers[..], &[Arg::value(x.len() as i32)]].concat();
    module.launch("last_block", blocks as u32, 32, 0, &mut memory, &arguments)?;
    equal(&memory.download(y), &[x.iter().sum()])?;
    equal(&memory.download(arrived), &[0])
}

fn neighbour(module: &Module, size: usize) -> Result<(), Wrong> {
    let x: Vec<i32> = values(41 * size).iter().map(|v| *v as i32).collect();
    let mut expected = Vec::new();
    for group in x.chunks(32) {
        let largest = group.iter().max().copied().unwrap_or(0);
        for (i, v) in group.iter().enumerate() {
            let next = group.get((i + 1) % 32).unwrap_or(&0);
            expected.push(v + next + 1000 * i32::from(*v == largest) + group.len() as i32);
        }
    }
    let blocks = x.len().div_ceil(32) as u32;
    run_one((module, "neighbour"), blocks, (32, 0), &x, &[x.len()], &expected)
}

fn wmma(module: &Module, size: usize) -> Result<(), Wrong> {
    // The inner size is a multiple of 8 or not, so that both ways of loading run.
    let sizes @ [m, n, k] = [17 * size, 15 * size, if size == 1 { 40 } else { 8 * size + 5 }];
    let mut memory = Memory::new();
    let (a, b) = (values(m * k), values(k * n));
    let small = |v: &[f32]| v.iter().map(|v| bf16::from_f32(*v)).collect::<Vec<_>>();
    let (left, right, c) = (
        memory.upload(&small(&a)),
        memory.upload(&small(&b)),
        memory.zeros::<f32>(m * n),
    );
    let sizes_of = sizes.map(|s| Arg::value(s as i32));
    let arguments = [&[Arg::read(left), Arg::read(right), Arg::write(c)], &sizes_of[..]].concat();
    let blocks = (n.div_ceil(16) as u32, m.div_ceil(16) as u32);
    module.launch("wmma_product", blocks, 32, 0, &mut memory, &arguments)?;
    equal(&memory.download(c), &product(&a, &b, sizes))
}

fn tf32(module: &Module, size: usize) -> Result<(), Wrong> {
    let mut memory = Memory::new();
    // 1 + 2^-11 lies between two tf32 numbers, of which the greater is 1 + 2^-10.
    let (a, mut b) = (vec![1.0 + 2f32.powi(-11); 16 * 8], values(8 * 16));
    b.iter_mut().for_each(|v| *v += size as f32);
    let (left, right, c) = (memory.upload(&a), memory.upload(&b), memory.zeros::<f32>(256));
    module.launch(
        "tf32_product",
        1,
        32,
        0,
        &mut memory,
        &[Arg::read(left), Arg::read(right), Arg::write(c)],
    )?;
    let sums: Vec<f32> = b.chunks(8).map(|column| column.iter().sum()).collect();
    let expected: Vec<f32> = (0..256).map(|i| sums[i % 16] * (1.0 + 2f32.powi(-10))).collect();
    equal(&memory.download(c), &expected)
}
