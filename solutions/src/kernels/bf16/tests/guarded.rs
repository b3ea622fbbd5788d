//! Products at the very end of mapped memory, on all units.

use std::ops::{Deref, DerefMut};

use super::super::pairs::Pair;
use super::{Bf16Unit, units, values};
use crate::kernels::matrix::Matrix;
use crate::kernels::tile::Product;
use crate::kernels::vector::Number;

/// A copy of values whose last one ends at a page that cannot be read or written.
struct Guarded<T> {
    pages: *mut libc::c_void,
    bytes: usize,
    first: *mut T,
    count: usize,
}

const PAGE: usize = 4096;

impl<T: Copy> Guarded<T> {
    fn new(values: &[T]) -> Self {
        let used = size_of_val(values);
        let bytes = (used.div_ceil(PAGE) + 1) * PAGE;
        // SAFETY: new pages; the values fit before the last one.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            );
            assert_ne!(pages, libc::MAP_FAILED);
            let guard = pages.byte_add(bytes - PAGE);
            assert_eq!(libc::mprotect(guard, PAGE, libc::PROT_NONE), 0);
            let first = guard.byte_sub(used).cast::<T>();
            first.copy_from_nonoverlapping(values.as_ptr(), values.len());
            Self {
                pages,
                bytes,
                first,
                count: values.len(),
            }
        }
    }
}

impl<T> Deref for Guarded<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: written in `new`.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl<T> DerefMut for Guarded<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.count) }
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`.
        unsafe { libc::munmap(self.pages, self.bytes) };
    }
}

/// `count` pairs of small whole numbers, whose products and sums are exact in any order.
fn pairs(seed: u64, count: usize) -> Vec<Pair> {
    let whole = |v: f32| u16::rounded((v * 8.0).round());
    let all = values(seed, 0, 2 * count);
    all.as_chunks()
        .0
        .iter()
        .map(|pair: &[f32; 2]| pair.map(whole))
        .collect()
}

/// Computes a product on each unit, with every operand at the end of its memory, and compares all of c.
fn exact([rows, depth, columns]: [usize; 3], transposed: bool, add: bool, upper: bool) {
    let what = format!("{rows} × {depth} × {columns}, transposed {transposed}, add {add}, upper {upper}");
    // A transpose needs whole vectors of rows, as in `add_transposed`. A dense a has a longer step than its depth.
    let (row_step, pair_step) = if transposed {
        (1, rows.next_multiple_of(16))
    } else {
        (depth + 3, 1)
    };
    let len = if depth == 0 {
        0
    } else {
        (rows - 1) * row_step + (depth - 1) * pair_step + 1
    };
    let (a, b) = (
        Guarded::new(&pairs(1, len)),
        Guarded::new(&pairs(2, depth * columns)),
    );
    let start: Vec<f32> = (0..rows * columns).map(|i| (i % 97) as f32).collect();
    let left = Matrix {
        data: &a[..],
        row_step,
        column_step: pair_step,
    };
    for unit in units() {
        let mut c = Guarded::new(&start);
        let product = Product::new([rows, depth, columns], left, &b, &mut c);
        product.adding(add).upper(upper).run(unit);
        for (at, &got) in c.iter().enumerate() {
            let (i, j) = (at / columns, at % columns);
            let mut sum = if add { start[at] } else { 0.0 };
            for k in 0..depth {
                let (a, b) = (a[i * row_step + k * pair_step], b[k * columns + j]);
                sum += a[0].wide() * b[0].wide() + a[1].wide() * b[1].wide();
            }
            // Below the diagonal, units compute blocks of 32 × 32 that have a value on or right of it, or less.
            let block_below = i / 32 > j / 32 && unit != Bf16Unit::Portable;
            let skipped = upper && (block_below || (j < i && got == start[at]));
            let expected = if skipped { start[at] } else { sum };
            assert!(
                got == expected,
                "{unit}, {what}: c[{i}, {j}] is {got}, expected {expected}"
            );
        }
    }
}

#[test]
fn a_product_touches_no_memory_beyond_its_operands() {
    for (rows, depth, columns) in [
        (1, 1, 16),
        (16, 16, 16),
        (32, 16, 32),
        (33, 17, 48),
        (15, 15, 32),
        (63, 40, 80),
        (64, 8, 64),
        (47, 33, 16),
        (5, 0, 32),
    ] {
        for add in [false, true] {
            exact([rows, depth, columns], false, add, false);
            exact([rows, depth, columns], true, add, false);
        }
    }
}

#[test]
fn an_upper_product_leaves_the_blocks_below_the_diagonal_as_they_are() {
    for n in [16, 32, 48, 64, 112] {
        for depth in [1, 16, 96, 137] {
            exact([n, depth, n], true, true, true);
        }
    }
}
