//! The bound, tested against f64, and the special instructions against the portable ones.

use canopy_data::Philox;
use proptest::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::blocks::Block;
use super::blocks::{Multiply, Portable};
use super::operands::{Columns, HEIGHT, Rows};
use crate::kernels::tile::PANEL;

/// Random operands of a kind: the rows, and the columns one after the other.
fn operands(seed: u64, kind: usize, rows: usize, depth: usize) -> (Rows, Columns) {
    let mut random = Philox::new(seed, 0);
    let mut value = |row: usize| {
        let v = random.range(-1.0, 1.0) as f32;
        match kind {
            // Uniform; a few values far greater than the others; magnitudes over many powers of two; denormal
            // values beside normal ones; rows that differ in the last bit only.
            0 => v,
            1 => v * if random.uniform() < 0.01 { 1e6 } else { 1.0 },
            2 => v * (random.range(-30.0, 30.0) as f32).exp2(),
            3 => v * if random.uniform() < 0.5 { 1e-39 } else { 1.0 },
            _ => 0.7 + (row % 3) as f32 * f32::EPSILON,
        }
    };
    let exact = (0..rows * depth).map(|i| value(i / depth).max(0.0)).collect();
    let mut quantised = Rows {
        exact,
        ..Rows::default()
    };
    assert!(quantised.quantise(rows), "kind {kind}");
    let columns = (0..PANEL * depth).map(|_| value(0)).collect();
    (quantised, Columns::new(columns, depth, depth))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_f32_sum_and_no_exact_sum_breaks_the_bound(
        seed: u64,
        kind in 0_usize..5,
        rows in 1_usize..40,
        depth in (1_usize..9).prop_map(|k| 16 * k),
    ) {
        let (rows, columns) = operands(seed, kind, rows, depth);
        for row in 0..rows.count {
            let b = row / HEIGHT;
            let a = &rows.exact[row * depth..][..depth];
            for c in 0..PANEL {
                let w = &columns.exact[c * depth..][..depth];
                // SAFETY: no special instructions.
                let products = unsafe {
                    let block = &rows.steps[b * HEIGHT * depth..][..HEIGHT * depth];
                    Portable::block(block, &columns.by_column[c * depth..][..depth])
                };
                let unit = f64::from(rows.scale[b]) * f64::from(columns.scale[c]);
                let near = unit * f64::from(products[row % HEIGHT]);
                let bound = rows.error[row] * columns.size[c] + rows.size[row] * columns.error[c];
                let bound = unit * f64::from(bound);
                let exact: f64 = a.iter().zip(w).map(|(&a, &w)| f64::from(a) * f64::from(w)).sum();
                let fused = a.iter().zip(w).fold(0.0_f32, |sum, (&a, &w)| a.mul_add(w, sum));
                let unfused = a.iter().zip(w).fold(0.0_f32, |sum, (&a, &w)| sum + a * w);
                for sum in [exact, f64::from(fused), f64::from(unfused)] {
                    prop_assert!((sum - near).abs() <= bound, "{sum} differs from {near} by more than {bound}");
                }
            }
        }
    }

    #[test]
    fn special_instructions_give_the_integers_and_sums_of_the_portable_form(
        seed: u64,
        kind in 0_usize..5,
        rows in 1_usize..70,
        depth in (1_usize..9).prop_map(|k| 16 * k),
        less in 0_usize..16,
    ) {
        let (rows, mut columns) = operands(seed, kind, rows, depth);
        columns.terms = depth - less;
        #[cfg(target_arch = "x86_64")]
        if super::Filter::Vnni.is_available() {
            // SAFETY: the machine has the instructions.
            unsafe { same::<super::vnni::Vnni>(&rows, &columns) };
            return Ok(());
        }
        let _ = (rows, columns);
        println!("not run, because this machine has no AVX512-VNNI");
    }
}

/// # Safety
/// The machine has the instructions of `M`.
#[cfg(target_arch = "x86_64")]
unsafe fn same<M: Multiply>(rows: &Rows, columns: &Columns) {
    let (depth, terms) = (rows.depth, columns.terms);
    let blocks = rows.scale.len();
    let mut maxima = [vec![0; blocks * PANEL], vec![0; blocks * PANEL]];
    // SAFETY: the caller's; the addresses are those of whole rows and columns.
    unsafe {
        M::maxima(&rows.steps, &columns.steps, &mut maxima[0]);
        Portable::maxima(&rows.steps, &columns.steps, &mut maxima[1]);
        assert_eq!(maxima[0], maxima[1]);
        for block in rows.steps.chunks_exact(HEIGHT * depth) {
            for column in columns.by_column.chunks_exact(depth) {
                assert_eq!(M::block(block, column), Portable::block(block, column));
            }
        }
        let row = |i: usize| rows.exact[i * 7 % rows.count * depth..].as_ptr();
        let column = |i: usize| columns.exact[i * 5 % PANEL * depth..].as_ptr();
        let pairs_of = |n: usize| {
            (
                std::array::from_fn(|i| row(16 * n + i)),
                std::array::from_fn(|i| column(16 * n + i)),
            )
        };
        let [(r0, c0), (r1, c1)] = [pairs_of(0), pairs_of(1)];
        let bits = |sums: [[f32; 16]; 2]| sums.map(|sums| sums.map(f32::to_bits));
        let both = bits(Portable::exact(terms, &[r0, r1], &[c0, c1]));
        assert_eq!(bits(M::exact(terms, &[r0, r1], &[c0, c1])), both);
        let alone = [M::exact(terms, &[r0], &[c0])[0], M::exact(terms, &[r1], &[c1])[0]];
        assert_eq!(bits(alone), both);

        let block = Block {
            rows,
            columns,
            block: blocks - 1,
        };
        let mut prepared = Vec::new();
        M::prepare(block, &mut prepared);
        let numbers = [0, 1].map(|n| std::array::from_fn(|i| (16 * n + i * 3) as u32 % HEIGHT as u32));
        assert_eq!(
            bits(M::exact_in_block(block, &prepared, &numbers, &[c0, c1])),
            bits(Portable::exact_in_block(block, &[], &numbers, &[c0, c1])),
        );
        for mask in [0, 1, 0x8000, 0xffff, 0xa5a4, terms as u16] {
            let set = mask.count_ones() as usize;
            assert_eq!(M::positions(mask)[..set], Portable::positions(mask)[..set]);
        }
    }
}
