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
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_product_is_within_the_rounding_of_its_sum(
        seed: u64,
        kind in 0_usize..4,
        rows in 1_usize..40,
        depth in 1_usize..70,
        columns in (1_usize..9).prop_map(|n| 16 * n),
        add: bool,
    ) {
        let width = depth.next_multiple_of(16);
        let mut a = values(seed, kind, rows * width);
        a.chunks_exact_mut(width).for_each(|row| row[depth..].fill(0.0));
        let b = values(seed + 1, kind, depth * columns);
        let start = values(seed + 2, 0, rows * columns);
        for unit in units() {
            let (mut c, mut numbers) = (start.clone(), Vec::new());
            let (left, right) = (u16::of(&a, &mut numbers), u16::right(&b[..], columns));
            multiply(unit, [rows, depth, columns], left, &right, &mut c, add);
            for (i, &got) in c.iter().enumerate() {
                let (row, column) = (&a[i / columns * width..][..depth], b[i % columns..].iter().step_by(columns));
                let start = if add { start[i] } else { 0.0 };
                check(got, start, row.iter().copied().zip(column.copied()), &format!("{unit}, {i}"));
            }
        }
    }

    #[test]
    fn a_transposed_product_is_within_the_rounding_of_its_sum(
        seed: u64,
        kind in 0_usize..4,
        rows in 1_usize..40,
        n in (1_usize..6).prop_map(|n| 16 * n),
        k in (1_usize..6).prop_map(|n| 16 * n),
        upper: bool,
    ) {
        let k = if upper { n } else { k };
        let a = values(seed, kind, rows * n);
        let b = if upper { a.clone() } else { values(seed + 1, kind, rows * k) };
        let start = values(seed + 2, 0, n * k);
        for unit in units() {
            let (mut c, mut left, mut right) = (start.clone(), Vec::new(), Vec::new());
            let left = u16::of(&a, &mut left);
            let right = (!upper).then(|| u16::of(&b, &mut right));
            add_transposed(unit, [n, rows, k], left, right, &mut c, &mut Words::<u16>::default());
            for (i, &got) in c.iter().enumerate().filter(|(i, _)| !upper || i % k >= i / k) {
                let of = |m: &[f32], width: usize, at: usize| -> Vec<f32> {
                    m[at..].iter().step_by(width).copied().collect()
                };
                let (a, b) = (of(&a, n, i / k), of(&b, k, i % k));
                check(got, start[i], a.into_iter().zip(b), &format!("{unit}, {i}"));
            }
        }
    }

    #[test]
    fn pairs_hold_the_rounded_values(
        bits in proptest::collection::vec(any::<u32>(), 32 * 5),
        rows in 1_usize..6,
        width in prop_oneof![Just(16_usize), Just(32)],
    ) {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).take(rows * width).collect();
        let same = |got: u16, v: f32| {
            let rounded = half::bf16::from_f32(v).to_bits();
            assert!(got == rounded || (got.wide().is_nan() && v.is_nan()), "{v:e}: {:e}", got.wide());
        };
        let (mut numbers, mut words) = (Vec::new(), Vec::new());
        let by_row = u16::of(&values, &mut numbers);
        let by_column = u16::along_columns(by_row, width, &mut words);
        prop_assert_eq!(by_column.len(), rows.div_ceil(2) * width);
        for (i, &v) in values.iter().enumerate() {
            same(by_row[i], v);
            let (row, column) = (i / width, i % width);
            same(by_column[row / 2 * width + column][row % 2], v);
        }
        if rows % 2 == 1 {
            prop_assert!(by_column[rows / 2 * width..].iter().all(|pair| pair[1] == 0));
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
    transposed: bool,
    add: bool,
    upper: bool,
    unit: Bf16Unit,
) where
    T::Word: bytemuck::Pod,
{
    let what =
        format!("{unit}, {rows} × {depth} × {columns}, transposed {transposed}, add {add}, upper {upper}");
    // A transpose needs whole vectors of rows, as in `add_transposed`. A dense a has a longer step than its depth.
    let (row_step, column_step) = if transposed {
        (1, rows.next_multiple_of(16))
    } else {
        (depth + 3, 1)
    };
    let len = if depth == 0 {
        0
    } else {
        (rows - 1) * row_step + (depth - 1) * column_step + 1
    };
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
    let c = guarded(&start);
    let right = guarded(bytemuck::cast_slice(&b));
    let product = Product::new([rows, depth, columns], left, right, c);
    T::run(product.adding(add).upper(upper), unit);
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

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn exact_on_all_units(sizes: [usize; 3], transposed: bool, add: bool, upper: bool) {
    exact::<f32>(sizes, transposed, add, upper, Bf16Unit::Off);
    for unit in units() {
        exact::<u16>(sizes, transposed, add, upper, unit);
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn a_product_touches_no_memory_beyond_its_operands() {
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
        for (transposed, add) in [(false, false), (false, true), (true, false), (true, true)] {
            exact_on_all_units(sizes, transposed, add, false);
        }
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn an_upper_product_leaves_the_blocks_below_the_diagonal_as_they_are() {
    for n in [16, 32, 48, 64, 112] {
        for depth in [1, 16, 96, 137] {
            exact_on_all_units([n, depth, n], true, true, true);
        }
    }
}
