//! Products of small whole numbers, whose sums are exact in any order, and memory beyond the operands.
#![cfg(target_os = "linux")]

use super::*;

/// A copy of values whose last one ends at a page that cannot be read or written. It is never freed.
fn guarded(values: &[f32]) -> &'static mut [f32] {
    const PAGE: usize = 4096;
    let used = size_of_val(values);
    let bytes = (used.div_ceil(PAGE) + 1) * PAGE;
    let (access, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: new pages; the values fit before the last one.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        assert_ne!(pages, libc::MAP_FAILED);
        let guard = pages.byte_add(bytes - PAGE);
        assert_eq!(libc::mprotect(guard, PAGE, libc::PROT_NONE), 0);
        let first = guard.byte_sub(used).cast::<f32>();
        first.copy_from_nonoverlapping(values.as_ptr(), values.len());
        std::slice::from_raw_parts_mut(first, values.len())
    }
}

/// Computes a product with every operand at the end of its memory, and compares all of c.
fn exact([rows, depth, columns]: [usize; 3], [transposed, add, upper]: [bool; 3]) {
    let what = format!("{rows} × {depth} × {columns}, transposed {transposed}, add {add}, upper {upper}");
    // A transpose needs whole vectors of rows, as in `add_transposed`. A dense a has a longer step than its depth.
    let (row_step, column_step) = match transposed {
        true => (1, rows.next_multiple_of(16)),
        false => (depth + 3, 1),
    };
    let end = |k: usize| (rows - 1) * row_step + k * column_step + 1;
    let numbers = |count, by| {
        (0..count)
            .map(|i: usize| (i * by % 17) as f32 - 8.0)
            .collect::<Vec<_>>()
    };
    let a = numbers(depth.checked_sub(1).map_or(0, end), 7);
    let (b, start) = (numbers(depth * columns, 5), numbers(rows * columns, 3));
    let left = Matrix {
        data: guarded(&a),
        row_step,
        column_step,
    };
    let c = guarded(&start);
    let product = Product::new([rows, depth, columns], left, guarded(&b), c);
    Product {
        add,
        upper,
        ..product
    }
    .run();
    for (at, &got) in c.iter().enumerate() {
        let (i, j) = (at / columns, at % columns);
        let products = (0..depth).map(|k| a[i * row_step + k * column_step] * b[k * columns + j]);
        let sum = if add { start[at] } else { 0.0 } + products.sum::<f32>();
        // Below the diagonal, blocks of 32 × 32 are computed that have a value on or right of it, or less.
        let skipped = upper && (i / 32 > j / 32 || (j < i && got == start[at]));
        assert_eq!(got, if skipped { start[at] } else { sum }, "{what}: c[{i}, {j}]");
    }
}

#[test]
fn a_product_touches_no_memory_beyond_its_operands_and_no_block_below_the_diagonal_of_an_upper_one() {
    for sizes in [
        [1, 1, 16],
        [16, 16, 16],
        [32, 16, 32],
        [33, 17, 48],
        [15, 15, 32],
        [63, 40, 80],
        [64, 8, 64],
        [47, 33, 16],
        [5, 0, 32],
    ] {
        for [transposed, add] in [[false, false], [false, true], [true, false], [true, true]] {
            exact(sizes, [transposed, add, false]);
        }
    }
    for n in [16, 32, 48, 64, 112] {
        for depth in [1, 16, 96, 137] {
            exact([n, depth, n], [true; 3]);
        }
    }
}
