//! Products against f64, the special instructions against the portable form, and memory beyond the operands.

use canopy_data::Philox;
use proptest::prelude::*;

use super::*;

/// The units of this machine.
fn units() -> impl Iterator<Item = Bf16Unit> {
    Bf16Unit::ALL[1..]
        .iter()
        .copied()
        .filter(|unit| unit.is_available())
}

/// Random values of a kind: uniform, over many powers of two, far from 0, or so small that products are subnormal numbers.
fn values(seed: u64, kind: usize, count: usize) -> Vec<f32> {
    let mut random = Philox::new(seed, kind as u64);
    let mut value = || {
        let v = random.range(-1.0, 1.0) as f32;
        match kind {
            0 => v,
            1 => v * (random.range(-20.0, 20.0) as f32).exp2(),
            2 => v + 7.0,
            _ => v * (random.range(-135.0, -55.0) as f32).exp2(),
        }
    };
    (0..count).map(|_| value()).collect()
}

fn bf16(v: f32) -> f64 {
    f64::from(half::bf16::from_f32(v).to_f32())
}

/// Checks a value against the sum of products of rounded operands. Of K terms, each product is rounded once, and each
/// partial sum once: both at most 2⁻²⁴ of Σ|a·b|, which bounds every partial sum, K + 2 of them with the one that c starts
/// from. Units may take numbers below 2⁻¹²⁶ as 0: operands, which changes a product by that times the other operand, and sums,
/// at most three for each product.
fn check(got: f32, start: f32, pairs: impl Iterator<Item = (f32, f32)>, what: &str) {
    let (mut sum, mut size, mut count) = (f64::from(start), f64::from(start.abs()), 0);
    let (smallest, mut flushed) = (f64::from(f32::MIN_POSITIVE), f64::from(f32::MIN_POSITIVE));
    for (a, b) in pairs {
        let (a, b) = (bf16(a), bf16(b));
        let product = a * b;
        flushed += smallest * (a.abs() + b.abs() + 3.0);
        sum += product;
        size += product.abs();
        count += 1;
    }
    let bound = size * f64::from(2 * count + 2) * 2f64.powi(-24) * 1.001 + flushed;
    let off = (f64::from(got) - sum).abs();
    assert!(
        off <= bound,
        "{what}: {got} differs from {sum} by {off}, more than {bound}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// c = a·b or c += a·b of a `[rows, depth]`; or c += aᵀ·b of a `[depth, rows]`, of which b may be a itself.
    #[test]
    fn a_product_is_within_the_rounding_of_its_sum(
        seed: u64,
        kind in 0_usize..4,
        rows in 1_usize..40,
        depth in 1_usize..70,
        columns in (1_usize..9).prop_map(|n| 16 * n),
        transposed: bool,
        add: bool,
        upper: bool,
    ) {
        let (add, upper) = (add || transposed, upper && transposed);
        let rows = if transposed { rows.next_multiple_of(16) } else { rows };
        let columns = if upper { rows } else { columns };
        let (width, height) = if transposed { (rows, depth) } else { (depth, rows) };
        let step = width.next_multiple_of(16);
        let mut a = values(seed, kind, height * step);
        a.chunks_exact_mut(step).for_each(|row| row[width..].fill(0.0));
        let b = if upper { a.clone() } else { values(seed + 1, kind, depth * columns) };
        let start = values(seed + 2, 0, rows * columns);
        for unit in units() {
            let (mut c, mut left, mut right) = (start.clone(), Vec::new(), Vec::new());
            let (sizes, left) = ([rows, depth, columns], u16::of(&a, &mut left));
            if transposed {
                let right = (!upper).then(|| u16::of(&b, &mut right));
                add_transposed(unit, sizes, left, right, &mut c, &mut Words::<u16>::default());
            } else {
                multiply(unit, sizes, left, &u16::right(&b[..], columns), &mut c, add);
            }
            for (i, &got) in c.iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                if upper && column < row {
                    continue;
                }
                let of_a = |k: usize| if transposed { a[k * step + row] } else { a[row * step + k] };
                let pairs = (0..depth).map(|k| (of_a(k), b[k * columns + column]));
                check(got, if add { start[i] } else { 0.0 }, pairs, &format!("{unit}, {i}"));
            }
        }
    }

    #[test]
    fn numbers_are_the_nearest_ones(bits in proptest::collection::vec(any::<u32>(), 64)) {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        for (&got, v) in u16::of(&values, &mut Vec::new()).iter().zip(&values) {
            let rounded = half::bf16::from_f32(*v).to_bits();
            assert!(got == rounded || (got.wide().is_nan() && v.is_nan()), "{v:e}: {:e}", got.wide());
        }
    }
}

/// A copy of values whose last one ends at a page that cannot be read or written. It is never freed.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn guarded<T: Copy>(values: &[T]) -> &'static mut [T] {
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
        let first = guard.byte_sub(used).cast::<T>();
        first.copy_from_nonoverlapping(values.as_ptr(), values.len());
        std::slice::from_raw_parts_mut(first, values.len())
    }
}

/// Computes a product of numbers T, small whole numbers whose sums are exact in any order, on a unit, with every operand at
/// the end of its memory, and compares all of c.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn exact<T: Operand>(
    [rows, depth, columns]: [usize; 3],
    [transposed, add, upper]: [bool; 3],
    unit: Bf16Unit,
) {
    let what =
        format!("{unit}, {rows} × {depth} × {columns}, transposed {transposed}, add {add}, upper {upper}");
    // A transpose needs whole vectors of rows, as in `add_transposed`. A dense a has a longer step than its depth.
    let (row_step, column_step) = if transposed {
        (1, rows.next_multiple_of(16))
    } else {
        (depth + 3, 1)
    };
    let last = |depth: usize| (rows - 1) * row_step + (depth - 1) * column_step;
    let len = if depth == 0 { 0 } else { last(depth) + 1 };
    let numbers = |seed: u64, count: usize| -> Vec<T> {
        let all = values(seed, 0, T::PER_WORD * count);
        all.iter().map(|v| T::rounded((v * 8.0).round())).collect()
    };
    let (a, b) = (numbers(1, len), numbers(2, depth * columns));
    let start: Vec<f32> = (0..rows * columns).map(|i| (i % 97) as f32).collect();
    let left = Matrix {
        data: &*guarded(bytemuck::cast_slice(&a)),
        row_step,
        column_step,
    };
    let (c, right) = (guarded(&start), guarded(bytemuck::cast_slice(&b)));
    let product = Product::new([rows, depth, columns], left, right, c);
    T::run(
        Product {
            add,
            upper,
            ..product
        },
        unit,
    );
    for (at, &got) in c.iter().enumerate() {
        let (i, j) = (at / columns, at % columns);
        let mut sum = if add { start[at] } else { 0.0 };
        for k in 0..depth {
            let a = a[T::PER_WORD * (i * row_step + k * column_step)..].iter();
            let b = &b[T::PER_WORD * (k * columns + j)..][..T::PER_WORD];
            sum += a.zip(b).map(|(a, b)| a.wide() * b.wide()).sum::<f32>();
        }
        // Below the diagonal, units compute blocks of 32 × 32 that have a value on or right of it, or less.
        let block_below = i / 32 > j / 32 && unit != Bf16Unit::Portable;
        let skipped = upper && (block_below || (j < i && got == start[at]));
        let expected = if skipped { start[at] } else { sum };
        assert!(
            got == expected,
            "{what}: c[{i}, {j}] is {got}, expected {expected}"
        );
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
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
        exact::<f32>(sizes, form, Bf16Unit::Off);
        units().for_each(|unit| exact::<u16>(sizes, form, unit));
    }
}
