//! Dropout, a linear layer with bias, and rows taken out of a padded batch.

use candle_core::Tensor;
use canopy::kernels::{Share, dropout, linear, without_padding};

use crate::common::*;
use crate::emulated::EmulatedGrid;
use crate::sources::Type;

/// Values of f64 as `dtype` has them.
fn rounded(dtype: Type, values: &[f64]) -> Vec<f64> {
    let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    dtype.rounded(&single).into_iter().map(f64::from).collect()
}

#[test]
fn dropout_has_the_mask_of_the_cpu() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (rows, width) in ROWS.into_iter().zip([70, 33, 5, 3]) {
        for (rank, world_size) in [(0, 1), (1, 3)] {
            for dtype in Type::ALL {
                let [x, g] = [1, 2].map(|seed| dtype.rounded(&random(seed, rows * width)));
                let case = Case {
                    what: "dropout".to_owned(),
                    inputs: &[(&x, &[rows, width])],
                    g: &g,
                    operator: &|v, pass| {
                        let share = Share {
                            rank,
                            world_size,
                            sums: None,
                        };
                        let mut pass = pass.clone().shared(share);
                        (pass.seed, pass.step) = (5, 9);
                        Ok(vec![dropout(v[0].as_tensor(), 0.3, 2, &pass)?])
                    },
                };
                let [_, (_, expected)] = case.references();
                for (found, expected) in case.on(&grid, dtype).unwrap().iter().zip(&expected) {
                    assert_eq!(found, &rounded(dtype, expected), "{rows} × {width}, {dtype:?}");
                }
            }
        }
    }
}

#[test]
fn a_linear_layer_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let k = 7;
    for (rows, n) in ROWS.into_iter().zip([70, 33, 5, 3]) {
        for dtype in Type::ALL {
            let [x, w, g] =
                [(1, rows * k), (2, n * k), (4, rows * n)].map(|(s, n)| dtype.rounded(&random(s, n)));
            let case = Case {
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
            };
            // The product is rounded, then its sum with the bias.
            case.check(&grid, dtype, 2.0 * dtype.tolerance(), &case.references());
        }
    }
}

#[test]
fn padding_is_taken_out_and_gets_no_gradient() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let mask = [[1_f32, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
    for dtype in Type::ALL {
        let (x, g) = (dtype.rounded(&random(1, 9 * 5)), dtype.rounded(&random(2, 6 * 5)));
        let case = Case {
            what: "padding".to_owned(),
            inputs: &[(&x, &[3, 3, 5])],
            g: &g,
            operator: &|v, pass| {
                let mask = Tensor::new(&mask, v[0].device())?;
                Ok(vec![without_padding(v[0].as_tensor(), &mask, pass)?.0])
            },
        };
        for (form, expected) in case.references() {
            assert_eq!(case.on(&grid, dtype).unwrap(), expected, "{form}, {dtype:?}");
        }
    }
}
