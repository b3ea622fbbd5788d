//! Cross-entropy and the sum of losses.

use candle_core::Tensor;
use canopy::kernels::{cross_entropy, weighted_sum};

use crate::common::*;
use crate::emulated::EmulatedGrid;
use crate::sources::Type;

/// Calls `then` with the cross-entropy of `rows` rows.
pub fn with_cross_entropy<R>(
    [rows, classes]: [usize; 2],
    (smoothing, weighted): (f64, bool),
    dtype: Type,
    then: impl FnOnce(Case) -> R,
) -> R {
    let logits: Vec<f32> = random(4, rows * classes).iter().map(|v| v * 8.0).collect();
    let logits = dtype.rounded(&logits);
    let labels: Vec<u32> = (0..rows as u32).map(|i| i * 7 % classes as u32).collect();
    let weights: Vec<f32> = random(5, classes).iter().map(|v| v + 1.5).collect();
    let weights = dtype.rounded(&weights);
    then(Case {
        what: format!("{rows} × {classes}, smoothing {smoothing}"),
        inputs: &[(&logits, &[rows, classes])],
        g: &[0.5],
        operator: &|v, pass| {
            let labels = Tensor::from_slice(&labels, rows, v[0].device())?;
            let weights = Tensor::from_slice(&weights, classes, v[0].device())?;
            let weights = weighted.then(|| weights.to_dtype(v[0].dtype())).transpose()?;
            let logits = on_tape(&v[0], pass)?;
            Ok(vec![cross_entropy(
                &logits,
                &labels,
                smoothing,
                weights.as_ref(),
            )?])
        },
    })
}

#[test]
fn cross_entropy_matches() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (rows, classes) in ROWS.into_iter().zip([5, 40, 33, 7]) {
        for dtype in Type::ALL {
            for kind in [(0.0, false), (0.1, true)] {
                with_cross_entropy([rows, classes], kind, dtype, |case| {
                    case.check(&grid, dtype, 0.0, &case.references());
                });
            }
        }
    }
}

#[test]
fn a_label_that_is_no_class_makes_the_loss_nan() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let case = Case {
        what: "a label that is no class".to_owned(),
        inputs: &[(&[0.0; 6], &[2, 3])],
        g: &[1.0],
        operator: &|v, pass| {
            let labels = Tensor::new(&[1_u32, 3], v[0].device())?;
            Ok(vec![cross_entropy(&on_tape(&v[0], pass)?, &labels, 0.0, None)?])
        },
    };
    assert!(case.on(&grid, Type::F32).unwrap()[0][0].is_nan());
}

#[test]
fn a_weighted_sum_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let (terms, factors) = (random(1, 3), [0.5, -2.0, 1.0]);
    let case = Case {
        what: "weighted sum".to_owned(),
        inputs: &[(&terms[..1], &[]), (&terms[1..2], &[]), (&terms[2..], &[])],
        g: &[0.5],
        operator: &|v, pass| {
            let terms = v
                .iter()
                .map(|v| on_tape(v, pass))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(vec![weighted_sum(
                &terms.iter().zip(factors).collect::<Vec<_>>(),
            )?])
        },
    };
    case.check(&grid, Type::F32, 0.0, &case.references());
}
