//! The products of the fused operators in f32, or of operands rounded to bf16, with sums in f32, on the units that the CPU
//! has for them.
//!
//! A unit is a variant of [`Bf16Unit`] with its own tile, and its own [`pairs::Pack`] if it has instructions for it. The tiles
//! of all units take the right operand in the same pairs.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod pairs;
#[cfg(test)]
mod tests;
mod tile;
mod unit;

use std::borrow::Cow;

use pairs::{along_columns, along_rows};
pub use unit::Bf16Unit;

use super::tile as single;

/// A right operand `[depth, columns]` that many products share, in the form that they read.
pub enum Right<'a> {
    Single(Cow<'a, [f32]>),
    Bf16(Bf16Unit, Vec<u32>),
}

impl<'a> Right<'a> {
    /// Rounds the values if `unit` is not off. `columns` is a multiple of 16.
    pub fn new(unit: Bf16Unit, values: impl Into<Cow<'a, [f32]>>, columns: usize) -> Self {
        let values = values.into();
        if unit == Bf16Unit::Off {
            return Self::Single(values);
        }
        let (mut rows, mut pairs) = (Vec::new(), Vec::new());
        along_rows(unit, &values, &mut rows);
        along_columns(unit, &rows, columns, &mut pairs);
        Self::Bf16(unit, pairs)
    }
}

/// A dense block of rows, in f32 or in pairs along the rows. The length of a row is a multiple of 16.
#[derive(Clone, Copy)]
pub enum Block<'a> {
    Single(&'a [f32]),
    Bf16(&'a [u32]),
}

impl<'a> Block<'a> {
    /// Rounds the values to `pairs` if `unit` is not off.
    pub fn new(unit: Bf16Unit, values: &'a [f32], pairs: &'a mut Vec<u32>) -> Self {
        if unit == Bf16Unit::Off {
            return Self::Single(values);
        }
        along_rows(unit, values, pairs);
        Self::Bf16(pairs)
    }
}

/// `c = a·b`, or `c += a·b`. a is `rows × depth`, its rows are filled up with zeros.
pub fn multiply([rows, depth, columns]: [usize; 3], a: Block, b: &Right, c: &mut [f32], add: bool) {
    match (a, b) {
        (Block::Single(a), Right::Single(b)) => {
            let left = single::Left::dense(a, a.len() / rows);
            let product = single::Product::new([rows, depth, columns], left, b, c);
            if add { product.add().run() } else { product.run() }
        }
        (Block::Bf16(a), Right::Bf16(unit, b)) => {
            let left = tile::Left {
                pairs: a,
                row_step: a.len() / rows,
                pair_step: 1,
            };
            tile::Product {
                add,
                ..tile::Product::new([rows, depth.div_ceil(2), columns], left, b, c)
            }
            .run(*unit)
        }
        _ => unreachable!("both operands are made for the same unit"),
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub struct Buffers {
    left: Vec<u32>,
    right: Vec<u32>,
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
    match (a, b.unwrap_or(a)) {
        (Block::Single(a), Block::Single(right)) => {
            let left = single::Left::transpose(a, n);
            let product = single::Product::new([n, rows, k], left, right, c).add();
            if b.is_some() {
                product.run()
            } else {
                product.upper().run()
            }
        }
        (Block::Bf16(a), Block::Bf16(right)) => {
            along_columns(unit, a, n, &mut buffers.left);
            if b.is_some() {
                along_columns(unit, right, k, &mut buffers.right);
            }
            let left = tile::Left {
                pairs: &buffers.left,
                row_step: 1,
                pair_step: n,
            };
            let right = match b {
                Some(_) => &buffers.right,
                None => &buffers.left,
            };
            tile::Product {
                add: true,
                upper: b.is_none(),
                ..tile::Product::new([n, rows.div_ceil(2), k], left, right, c)
            }
            .run(unit);
        }
        _ => unreachable!("both operands are made for the same unit"),
    }
}
