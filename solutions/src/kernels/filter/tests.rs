//! The bound, tested against f64, and the special instructions against the portable form.

use canopy_data::Philox;
use proptest::prelude::*;

use super::operands::{Columns, Rows};
use super::products::{maxima, portable};
use super::{Filter, HEIGHT};
use crate::kernels::maxima::PANEL;

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

/// Fails unless all instructions of this machine give the integers of the portable form.
fn agree(rows: &[u8], panel: &[i8]) {
    let mut expected = vec![0; rows.len() / HEIGHT * PANEL * PANEL / panel.len()];
    portable(rows, panel, &mut expected);
    for filter in Filter::ALL.into_iter().filter(|filter| filter.is_available()) {
        let mut found = vec![0; expected.len()];
        maxima(filter, rows, panel, &mut found);
        assert_eq!(found, expected, "{filter:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_f32_sum_and_no_exact_sum_breaks_the_bound_and_all_instructions_agree(
        seed: u64,
        kind in 0_usize..5,
        rows in 1_usize..70,
        depth in (1_usize..9).prop_map(|k| 16 * k),
    ) {
        let (rows, columns) = operands(seed, kind, rows, depth);
        agree(&rows.steps, &columns.steps);
        for (place, &row) in rows.order.iter().enumerate() {
            let (b, r) = (place / HEIGHT, place % HEIGHT);
            let a = &rows.exact[row as usize * depth..][..depth];
            for c in 0..PANEL {
                let w = &columns.exact[c * depth..][..depth];
                let product = (0..depth).map(|k| {
                    let q = rows.steps[(b * depth + k / 4 * 4) * HEIGHT + 4 * r + k % 4];
                    let p = columns.steps[k / 4 * 4 * PANEL + 4 * c + k % 4];
                    f64::from(q) * f64::from(p)
                });
                let unit = f64::from(rows.scale[b]) * f64::from(columns.scale[c]);
                let near = unit * product.sum::<f64>();
                let bound = rows.error[b] * columns.size[c] + rows.size[b] * columns.error[c];
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

    /// The greatest integers that the instructions meet: nothing saturates or overflows.
    #[test]
    fn extreme_steps(depth in (1_usize..33).prop_map(|k| 16 * k), step: u8, negative: bool) {
        let rows: Vec<u8> = (0..2 * HEIGHT * depth).map(|i| if i % 3 == 0 { step } else { 255 }).collect();
        let panel = vec![if negative { -127 } else { 127 }; PANEL * depth];
        agree(&rows, &panel);
    }
}
