//! Operands in f32 or in bf16, and their products.

use std::borrow::Cow;

use super::pairs::{Pair, along_columns, along_rows};
use super::unit::Bf16Unit;
use crate::kernels::matrix::Matrix;
use crate::kernels::tile::Product;
use crate::kernels::vector;

/// A right operand `[depth, columns]` that many products share, in the form that they read.
pub enum Right<'a> {
    Single(Cow<'a, [f32]>),
    Bf16(Bf16Unit, Vec<Pair>),
}

impl<'a> Right<'a> {
    /// Rounds the values if `unit` is not off. `columns` is a multiple of 16.
    pub fn new(unit: Bf16Unit, values: impl Into<Cow<'a, [f32]>>, columns: usize) -> Self {
        let values = values.into();
        if unit == Bf16Unit::Off {
            return Self::Single(values);
        }
        let (mut rounded, mut pairs) = (Vec::new(), Vec::new());
        convert(&values, &mut rounded);
        along_columns(&rounded, columns, &mut pairs);
        Self::Bf16(unit, pairs)
    }
}

/// A dense block of rows. The length of a row is a multiple of 16.
#[derive(Clone, Copy)]
pub enum Block<'a> {
    Single(&'a [f32]),
    Bf16(&'a [u16]),
}

impl<'a> Block<'a> {
    /// Rounds the values to `rounded` if `unit` is not off.
    pub fn new(unit: Bf16Unit, values: &'a [f32], rounded: &'a mut Vec<u16>) -> Self {
        if unit == Bf16Unit::Off {
            return Self::Single(values);
        }
        convert(values, rounded);
        Self::Bf16(rounded)
    }
}

fn convert(values: &[f32], rounded: &mut Vec<u16>) {
    rounded.resize(values.len(), 0);
    vector::convert(rounded, values);
}

/// Rounds values to bf16 if `unit` is not off.
pub fn round(unit: Bf16Unit, values: &mut [f32]) {
    if unit != Bf16Unit::Off {
        vector::round_to_bf16(values);
    }
}

/// `c = a·b`, or `c += a·b`. a is `rows × depth`, its rows are filled up with zeros.
pub fn multiply([rows, depth, columns]: [usize; 3], a: Block, b: &Right, c: &mut [f32], add: bool) {
    match (a, b) {
        (Block::Single(a), Right::Single(b)) => {
            let a = Matrix::dense(a, a.len() / rows);
            Product::new([rows, depth, columns], a, b, c).adding(add).run();
        }
        (Block::Bf16(a), Right::Bf16(unit, b)) => {
            let a = Matrix::dense(along_rows(a), a.len() / rows / 2);
            let product = Product::new([rows, depth.div_ceil(2), columns], a, b, c);
            product.adding(add).run(*unit);
        }
        _ => unreachable!("both operands are made for the same unit"),
    }
}

impl Product<'_, Pair> {
    /// Computes the product on `unit`.
    pub fn run(self, unit: Bf16Unit) {
        match unit {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a unit is chosen only if the machine has its instructions.
            Bf16Unit::Avx512 => unsafe { super::avx512::run(self) },
            _ => self.portable(),
        }
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub struct Buffers {
    left: Vec<Pair>,
    right: Vec<Pair>,
}

/// `c += aᵀ·b` over rows, a of `n` values and b of `k`. If `b` is `None`, it is a, and only the values on or right of the
/// diagonal are computed.
pub fn add_transposed(
    unit: Bf16Unit,
    [n, rows, k]: [usize; 3],
    a: Block,
    b: Option<Block>,
    c: &mut [f32],
    buffers: &mut Buffers,
) {
    let upper = b.is_none();
    match (a, b.unwrap_or(a)) {
        (Block::Single(a), Block::Single(b)) => {
            let product = Product::new([n, rows, k], Matrix::dense(a, n).t(), b, c);
            product.adding(true).upper(upper).run();
        }
        (Block::Bf16(a), Block::Bf16(b)) => {
            let Buffers { left, right } = buffers;
            along_columns(a, n, left);
            if !upper {
                along_columns(b, k, right);
            }
            let b = if upper { &*left } else { &*right };
            let product = Product::new([n, rows.div_ceil(2), k], Matrix::dense(left, n).t(), b, c);
            product.adding(true).upper(upper).run(unit);
        }
        _ => unreachable!("both operands are made for the same unit"),
    }
}
