//! Products at the very end of mapped memory, on all units, and what only AMX has: a configuration, and few instructions.

use std::arch::asm;
use std::ops::{Deref, DerefMut};

use super::super::pairs::unpack;
use super::super::tile::{Left, Product};
use super::amx::handler::executed;
use super::{Bf16Unit, units, values};

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
fn pairs(seed: u64, count: usize) -> Vec<u32> {
    let whole = |v: &f32| (v * 8.0).round().to_bits();
    let all = values(seed, 0, 2 * count);
    all.chunks_exact(2)
        .map(|v| whole(&v[0]) >> 16 | whole(&v[1]))
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
    let left = Left {
        pairs: &a,
        row_step,
        pair_step,
    };
    for unit in units() {
        let mut c = Guarded::new(&start);
        Product {
            add,
            upper,
            ..Product::new([rows, depth, columns], left, &b, &mut c)
        }
        .run(unit);
        for (at, &got) in c.iter().enumerate() {
            let (i, j) = (at / columns, at % columns);
            let mut sum = if add { start[at] } else { 0.0 };
            for k in 0..depth {
                let (a, b) = (
                    unpack(a[i * row_step + k * pair_step]),
                    unpack(b[k * columns + j]),
                );
                sum += a[0] * b[0] + a[1] * b[1];
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
    // More pairs than are repacked at a time: twice 128, and 20.
    exact([35, 276, 48], true, false, false);
    exact([35, 276, 48], true, true, false);
}

#[test]
fn an_upper_product_leaves_the_blocks_below_the_diagonal_as_they_are() {
    for n in [16, 32, 48, 64, 112] {
        for depth in [1, 16, 96, 137] {
            exact([n, depth, n], true, true, true);
        }
    }
}

/// The configuration of this thread's tiles; zeros if they are released.
fn configuration() -> [u8; 64] {
    let mut to = [0xff; 64];
    // SAFETY: `units` made AMX available or emulated it; the instruction writes 64 bytes.
    unsafe { asm!("sttilecfg [{}]", in(reg) &raw mut to, options(nostack)) };
    to
}

#[test]
fn a_product_on_amx_has_the_least_number_of_instructions_and_releases_its_tiles() {
    assert!(units().any(|unit| unit == Bf16Unit::Amx));
    let instructions = |sizes: [usize; 3], transposed: bool, upper: bool| {
        let [rows, depth, columns] = sizes;
        let (a, b) = (pairs(1, rows * depth), pairs(2, depth * columns));
        let (row_step, pair_step) = if transposed { (1, rows) } else { (depth, 1) };
        let left = Left {
            pairs: &a,
            row_step,
            pair_step,
        };
        let mut c = vec![0.0; rows * columns];
        let before = executed();
        Product {
            add: true,
            upper,
            ..Product::new(sizes, left, &b, &mut c)
        }
        .run(Bf16Unit::Amx);
        let after = executed();
        assert_eq!(configuration(), [0; 64], "the tiles are released");
        after - before
    };
    // A configuration and a release; of 32 × 32 values, 8 loads and stores of c, and for every 16 pairs 4 loads and 4 products.
    let four = |steps: usize| 8 + 8 * steps;
    // Of 16 × 16 values, 2 loads and stores of c, and for every 16 pairs 2 loads and a product.
    let one = |steps: usize| 2 + 3 * steps;
    let cases = [
        (instructions([64, 32, 96], false, false), 2 + 6 * four(2)),
        (instructions([64, 32, 96], true, false), 2 + 6 * four(2)),
        // The other shape at the end of the depth is one more configuration.
        (
            instructions([64, 40, 96], false, false),
            3 + 6 * (four(2) + four(1)),
        ),
        (instructions([96, 96, 96], true, true), 2 + 6 * four(6)),
        (instructions([48, 16, 48], true, true), 2 + four(1) + 3 * one(1)),
        // 32 rows, and a shape for the last 8.
        (instructions([40, 16, 32], false, false), 3 + four(1) + 2 * one(1)),
    ];
    for (i, (got, expected)) in cases.into_iter().enumerate() {
        let expected = if Bf16Unit::Amx.is_available() { 0 } else { expected };
        assert_eq!(got, expected, "case {i}");
    }
}
