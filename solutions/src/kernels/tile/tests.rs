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
    let (row_step, column_step) = if transposed {
        (1, rows.next_multiple_of(16))
    } else {
        (depth + 3, 1)
    };
    let last = |depth: usize| (rows - 1) * row_step + (depth - 1) * column_step;
    let len = if depth == 0 { 0 } else { last(depth) + 1 };
    let numbers =
        |count: usize, by: usize| (0..count).map(|i| (i * by % 17) as f32 - 8.0).collect::<Vec<_>>();
    let (a, b) = (numbers(len, 7), numbers(depth * columns, 5));
    let start: Vec<f32> = (0..rows * columns).map(|i| (i % 97) as f32).collect();
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
        let expected = if skipped { start[at] } else { sum };
        assert!(
            got == expected,
            "{what}: c[{i}, {j}] is {got}, expected {expected}"
        );
    }
}

#[test]
fn a_product_touches_no_memory_beyond_its_operands_and_no_block_below_the_diagonal_of_an_upper_one() {
    let sizes = [
        [1, 1, 16],
        [16, 16, 16],
        [32, 16, 32],
        [33, 17, 48],
        [15, 15, 32],
        [63, 40, 80],
        [64, 8, 64],
        [47, 33, 16],
        [5, 0, 32],
    ];
    let forms = [[false, false], [false, true], [true, false], [true, true]];
    let whole = sizes
        .into_iter()
        .flat_map(|sizes| forms.map(|[t, add]| (sizes, [t, add, false])));
    let upper = [16, 32, 48, 64, 112].into_iter().flat_map(|n| {
        let of_depth = |depth| ([n, depth, n], [true; 3]);
        [1, 16, 96, 137].map(of_depth)
    });
    for (sizes, form) in whole.chain(upper) {
        exact(sizes, form);
    }
}
