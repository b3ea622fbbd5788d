//! The experiment's sparse Adam against canopy's dense Adam.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../run/src/experiment/sparse_adam.rs"]
mod sparse_adam;

use candle_core::{DType, Device, Tensor, Var};
use canopy::{
    optim::{AdamConfig, AdamState, adam_step},
    target::embedding_gradient,
};
use sparse_adam::sparse_adam_step;

#[test]
fn sparse_adam_leaves_rows_alone_that_dense_adam_moves_on() {
    let table = || Var::ones((3, 2), DType::F64, &Device::Cpu).unwrap();
    let (sparse, dense, config) = (table(), table(), AdamConfig::default());
    let mut states = [&sparse, &dense].map(|t| AdamState::zeros_like([t]).unwrap());
    let mut step = |ids: &[u32]| {
        let grad = Tensor::ones((ids.len(), 2), DType::F64, &Device::Cpu).unwrap();
        let gradient = embedding_gradient(ids, &grad).unwrap();
        let rows = (gradient.rows.as_slice(), &gradient.values);
        sparse_adam_step(&sparse, rows, &mut states[0], 0.1, &config).unwrap();
        let (table, full) = ([dense.clone()], [gradient.dense(3).unwrap()]);
        adam_step(&table, &full, &mut states[1], 0.1, &config).unwrap();
        [&sparse, &dense].map(|t| t.flatten_all().unwrap().to_vec1::<f64>().unwrap())
    };
    // As long as every row is looked up, the two are the same.
    let [first, same] = step(&[0, 1, 2]);
    assert!(first.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-15));
    let [after, moved] = step(&[1, 1]);
    for row in [0, 2] {
        let at = 2 * row;
        assert_eq!(after[at..at + 2], first[at..at + 2], "row {row}");
        assert!((moved[at] - same[at]).abs() > 1e-3, "dense Adam moves row {row}");
    }
    assert!(after[2] < first[2] - 1e-3);
    // A row beyond the table, a row twice, and weight decay, which would change every row.
    for (rows, weight_decay) in [(&[7][..], 0.0), (&[1, 1], 0.0), (&[0], 0.1)] {
        let config = AdamConfig {
            weight_decay,
            ..AdamConfig::default()
        };
        let grad = Tensor::ones((rows.len(), 2), DType::F64, &Device::Cpu).unwrap();
        let stepped = sparse_adam_step(&sparse, (rows, &grad), &mut states[0], 0.1, &config);
        assert!(stepped.is_err(), "{rows:?}");
    }
}
