//! Dropout, a linear layer with bias, and rows taken out of a padded batch.

use candle_core::Tensor;
use canopy::kernels::{Share, dropout, linear, without_padding};

use crate::common::*;
use crate::emulated::EmulatedGrid;
use crate::loss::with_cross_entropy;
use crate::sources::Type;
use crate::transform::with_identity;

/// Values of f64 as `dtype` has them.
fn rounded(dtype: Type, values: &[f64]) -> Vec<f64> {
    let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    dtype.rounded(&single).into_iter().map(f64::from).collect()
}

/// Calls `then` with dropout of a rank's rows.
pub fn with_dropout<R>(
    [rows, width]: [usize; 2],
    [rank, world_size]: [usize; 2],
    dtype: Type,
    then: impl FnOnce(Case) -> R,
) -> R {
    let [x, g] = [1, 2].map(|seed| dtype.rounded(&random(seed, rows * width)));
    then(Case {
        what: format!("{rows} × {width}, {dtype:?}"),
        inputs: &[(&x, &[rows, width])],
        g: &g,
        operator: &|v, pass| {
            let share = Share {
                rank,
                world_size,
                sums: None,
            };
            let mut pass = pass.clone().shared(share);
            // With the layer's number, that of the step takes more than 32 bits.
            (pass.seed, pass.step) = (5, 70_000);
            Ok(vec![dropout(v[0].as_tensor(), 0.3, 2, &pass)?])
        },
    })
}

#[test]
fn dropout_has_the_mask_of_the_cpu() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (rows, width) in ROWS.into_iter().zip([70, 33, 5, 3]) {
        for share in [[0, 1], [1, 3]] {
            for dtype in Type::ALL {
                with_dropout([rows, width], share, dtype, |case| {
                    let [_, (_, expected)] = case.references();
                    for (found, expected) in case.on(&grid, dtype).unwrap().iter().zip(&expected) {
                        assert_eq!(found, &rounded(dtype, expected), "{}", case.what);
                    }
                });
            }
        }
    }
}

/// Calls `then` with a linear layer of 7 inputs and `n` outputs.
pub fn with_linear<R>([rows, n]: [usize; 2], dtype: Type, then: impl FnOnce(Case) -> R) -> R {
    let k = 7;
    let [x, w, g] = [(1, rows * k), (2, n * k), (4, rows * n)].map(|(s, n)| dtype.rounded(&random(s, n)));
    then(Case {
        what: format!("{rows} × {n}"),
        inputs: &[(&x, &[rows, k]), (&w, &[n, k]), (&random(3, n), &[n])],
        g: &g,
        operator: &|v, pass| {
            Ok(vec![linear(
                &on_tape(&v[0], pass)?,
                v[1].as_tensor(),
                v[2].as_tensor(),
            )?])
        },
    })
}

#[test]
fn a_linear_layer_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (rows, n) in ROWS.into_iter().zip([70, 33, 5, 3]) {
        for dtype in Type::ALL {
            // The product is rounded, then its sum with the bias.
            let tolerance = 2.0 * dtype.tolerance();
            with_linear([rows, n], dtype, |case| {
                case.check(&grid, dtype, tolerance, &case.references());
            });
        }
    }
}

/// Calls `then` with the real points of three clouds: some, one, and all of `longest`.
pub fn with_padding<R>(longest: usize, dtype: Type, then: impl FnOnce(Case) -> R) -> R {
    let k = 5;
    let is_real = |i| match i / longest {
        0 => i % 7 < 4,
        1 => i % longest == 2,
        _ => true,
    };
    let mask: Vec<f32> = (0..3 * longest)
        .map(|i| f32::from(u8::from(is_real(i))))
        .collect();
    let real = mask.iter().filter(|v| **v != 0.0).count();
    let (x, g) = (
        dtype.rounded(&random(1, 3 * longest * k)),
        dtype.rounded(&random(2, real * k)),
    );
    then(Case {
        what: "padding".to_owned(),
        inputs: &[(&x, &[3, longest, k])],
        g: &g,
        operator: &|v, pass| {
            let mask = Tensor::from_slice(&mask, (3, longest), v[0].device())?;
            Ok(vec![without_padding(v[0].as_tensor(), &mask, pass)?.0])
        },
    })
}

#[test]
fn padding_is_taken_out_and_gets_no_gradient() {
    let Some(grid) = EmulatedGrid::new() else { return };
    // They fill more than a block.
    for dtype in Type::ALL {
        with_padding(60, dtype, |case| {
            for (form, expected) in case.references() {
                assert_eq!(case.on(&grid, dtype).unwrap(), expected, "{form}, {dtype:?}");
            }
        });
    }
}

/// More elements than the threads of a grid, of which there are 2,048 · 256 at most.
pub mod many {
    /// Rows and outputs of a linear layer.
    pub const LINEAR: [usize; 2] = [5300, 100];
    /// Points of the longest cloud.
    pub const PADDED: usize = 70_000;
    /// Rows and classes.
    pub const LOGITS: [usize; 2] = [8200, 64];
    /// Clouds, and rows of their matrices.
    pub const MATRICES: [usize; 2] = [130, 64];
}

#[test]
fn more_elements_than_threads_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let check = |case: Case| case.check(&grid, Type::F32, 0.0, &case.references());
    with_linear(many::LINEAR, Type::F32, check);
    with_padding(many::PADDED, Type::F32, check);
    with_cross_entropy(many::LOGITS, (0.1, true), Type::F32, check);
    with_identity(many::MATRICES, Type::F32, check);
}
