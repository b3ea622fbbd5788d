//! Products against f64, and the special instructions against the portable form.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod guarded;

use canopy_data::Philox;
use proptest::prelude::*;

use super::pairs::along_columns;
use super::{Bf16Unit, Block, Buffers, Right, add_transposed, multiply};
use crate::kernels::vector::Number;

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
            let (mut c, mut pairs) = (start.clone(), Vec::new());
            let right = Right::new(unit, &b[..], columns);
            multiply([rows, depth, columns], Block::new(unit, &a, &mut pairs), &right, &mut c, add);
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
            let left = Block::new(unit, &a, &mut left);
            let right = (!upper).then(|| Block::new(unit, &b, &mut right));
            add_transposed(unit, [n, rows, k], left, right, &mut c, &mut Buffers::default());
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
        let (mut rounded, mut by_column) = (Vec::new(), Vec::new());
        let Block::Bf16(by_row) = Block::new(Bf16Unit::Portable, &values, &mut rounded) else {
            panic!("the unit is not off");
        };
        along_columns(by_row, width, &mut by_column);
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
