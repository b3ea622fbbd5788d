//! Inputs, references and comparisons.

use candle_core::{DType, Device, Tensor, Var};
use canopy::kernels::{self, Pass, loss_by_candle};
use canopy_data::Philox;

/// The numbers of rows that every operator is tested with.
pub const ROWS: [usize; 4] = [1, 2, 33, 1000];

/// Random values by seed, uniform within ±1.
pub fn random(seed: u64, n: usize) -> Vec<f32> {
    let mut r = Philox::new(seed, 0);
    (0..n).map(|_| r.range(-1.0, 1.0) as f32).collect()
}

/// Fails at the first value that differs by more than `tolerance` times the greatest expected value.
pub fn close(what: &str, found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-3, |size: f64, v| size.max(v.abs()));
    for (i, (&f, &e)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(f) - e).abs() / size;
        assert!(
            error <= tolerance,
            "{what}[{i}]: found {f}, expected {e}: {error:e} of the greatest value, tolerance {tolerance:e}"
        );
    }
}

pub fn flat(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64)
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1()
        .unwrap()
}

/// An input of an operator: its values and its shape.
pub type Input<'a> = (&'a [f32], &'a [usize]);

/// The operator's output, and the gradients of its inputs if `g` is the output's gradient. In f64 by the plain form, in f32
/// by the fused one.
pub fn outcome(
    dtype: DType,
    inputs: &[Input],
    g: &[f32],
    operator: impl Fn(&[Var], &Pass) -> candle_core::Result<Tensor>,
) -> Vec<Vec<f64>> {
    let tensor = |values: &[f32], shape: &[usize]| {
        Tensor::from_vec(values.to_vec(), shape, &Device::Cpu)
            .unwrap()
            .to_dtype(dtype)
            .unwrap()
    };
    let vars: Vec<Var> = inputs
        .iter()
        .map(|(values, shape)| Var::from_tensor(&tensor(values, shape)).unwrap())
        .collect();
    let pass = Pass::train(1, 0).plain(dtype == DType::F64);
    let y = operator(&vars, &pass).unwrap();
    let loss = loss_by_candle(&y, |y| (y * tensor(g, y.dims()))?.sum_all()).unwrap();
    let gradients = kernels::backward(&loss, &pass).unwrap();
    let mut out = vec![flat(&y)];
    out.extend(vars.iter().map(|v| gradients.get(v).map_or_else(Vec::new, flat)));
    out
}

/// [`outcome`] in f64 and by the CPU twin in f32.
pub fn references(
    inputs: &[Input],
    g: &[f32],
    operator: impl Fn(&[Var], &Pass) -> candle_core::Result<Tensor>,
) -> [(&'static str, Vec<Vec<f64>>); 2] {
    [("f64", DType::F64), ("the CPU twin", DType::F32)]
        .map(|(name, dtype)| (name, outcome(dtype, inputs, g, &operator)))
}

/// A variable on the pass's tape: an operator that finds the tape by its inputs would take the plain form otherwise.
pub fn on_tape(v: &Var, pass: &Pass) -> candle_core::Result<Tensor> {
    match pass.plain {
        true => Ok(v.as_tensor().clone()),
        false => kernels::each(v.as_tensor(), pass, |_| {}, |_| {}),
    }
}
