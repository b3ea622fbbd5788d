//! Inputs, references and comparisons.

use std::sync::Arc;

use candle_core::{DType, Device as Cpu, Result, Tensor, Var};
use canopy::kernels::device::Launcher;
use canopy::kernels::{self, Pass, loss_by_candle, with_backward};
use canopy_data::Philox;

use crate::emulated::device;
use crate::sources::Type;

/// The numbers of rows that every operator is tested with.
pub const ROWS: [usize; 4] = [1, 2, 33, 1000];

/// Random values by seed, uniform within ±1.
pub fn random(seed: u64, n: usize) -> Vec<f32> {
    let mut r = Philox::new(seed, 0);
    (0..n).map(|_| r.range(-1.0, 1.0) as f32).collect()
}

/// The difference of each value, as a fraction of the greatest expected one.
pub fn errors<T: Copy + Into<f64>>(found: &[T], expected: &[f64]) -> Vec<f64> {
    let size = expected.iter().fold(1e-3, |size: f64, v| size.max(v.abs()));
    let error = |(&f, e): (&T, &f64)| (f.into() - e).abs() / size;
    found.iter().zip(expected).map(error).collect()
}

/// The greatest of values that are not negative; NaN if one of them is.
pub fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    let greater = |top: f64, v: f64| if top.is_nan() || v <= top { top } else { v };
    values.into_iter().fold(0.0, greater)
}

/// Fails at the first value that differs by more than `tolerance` times the greatest expected value. Returns the greatest
/// such difference.
pub fn close<T: Copy + Into<f64>>(what: &str, found: &[T], expected: &[f64], tolerance: f64) -> f64 {
    assert_eq!(found.len(), expected.len(), "{what}");
    let errors = errors(found, expected);
    for ((i, error), (&f, e)) in errors.iter().enumerate().zip(found.iter().zip(expected)) {
        let f: f64 = f.into();
        assert!(
            *error <= tolerance,
            "{what}[{i}]: found {f}, expected {e}: {error:e} of the greatest value, tolerance {tolerance:e}"
        );
    }
    greatest(errors)
}

/// Prints the line from which `tests/gpu` takes an error: it is relative, and `share` of its tolerance.
pub fn report(dtype: &str, error: f64, share: f64) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    println!("error {test} {} {error:.1e} {share:.3}", dtype.to_lowercase());
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

/// An operator's output, and further tensors to compare.
pub type Outputs = Result<Vec<Tensor>>;

/// An operator on inputs, with the gradient of its output.
pub struct Case<'a> {
    pub what: String,
    pub inputs: &'a [Input<'a>],
    pub g: &'a [f32],
    pub operator: &'a dyn Fn(&[Var], &Pass) -> Outputs,
}

impl Case<'_> {
    /// The operator's output, the gradients of its inputs, and its further tensors. Vectors are f32 where matrices are in half
    /// precision.
    pub fn outcome(&self, dtype: DType, device: &Cpu, pass: &Pass) -> Result<Vec<Vec<f64>>> {
        let tensor = |values: &[f32], shape: &[usize]| {
            let half = matches!(dtype, DType::BF16 | DType::F16);
            let dtype = if half && shape.len() == 1 {
                DType::F32
            } else {
                dtype
            };
            Tensor::from_vec(values.to_vec(), shape, device)?.to_dtype(dtype)
        };
        let vars = self
            .inputs
            .iter()
            .map(|(values, shape)| Var::from_tensor(&tensor(values, shape)?));
        let vars: Vec<Var> = vars.collect::<Result<_>>()?;
        let mut outputs = (self.operator)(&vars, pass)?;
        let further = outputs.split_off(1);
        let y = outputs.remove(0);
        let g = Tensor::from_vec(self.g.to_vec(), y.dims(), device)?.to_dtype(y.dtype())?;
        let loss = loss_by_candle(&y, |y| (y * g)?.sum_all())?;
        let gradients = kernels::backward(&loss, pass)?;
        let mut found = vec![flat(&y)];
        found.extend(vars.iter().map(|v| gradients.get(v).map_or_else(Vec::new, flat)));
        found.extend(further.iter().map(flat));
        Ok(found)
    }

    /// In f64 by the plain form, and by the CPU twin.
    pub fn references(&self) -> [(&'static str, Vec<Vec<f64>>); 2] {
        let pass = Pass::train(1, 0);
        [
            ("f64", DType::F64, pass.clone().plain(true)),
            ("the CPU twin", DType::F32, pass),
        ]
        .map(|(name, dtype, pass)| (name, self.outcome(dtype, &Cpu::Cpu, &pass).unwrap()))
    }

    /// On the emulated grid, or on the GPU under test.
    pub fn on(&self, launcher: &Arc<impl Launcher + 'static>, dtype: Type) -> Result<Vec<Vec<f64>>> {
        self.outcome(
            dtype.dtype(),
            device(),
            &Pass::train(1, 0).with_launcher(launcher.clone()),
        )
    }

    /// Compares what the operator launches with `references`, each value within the dtype's tolerance, at least `tolerance`.
    pub fn check(
        &self,
        launcher: &Arc<impl Launcher + 'static>,
        dtype: Type,
        tolerance: f64,
        references: &[(&str, Vec<Vec<f64>>)],
    ) {
        let found = self.on(launcher, dtype).unwrap();
        let mut worst = (0.0, 0.0);
        for (form, expected) in references {
            assert_eq!(found.len(), expected.len());
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                // Vectors and losses are f32.
                let vector = match i.checked_sub(1) {
                    None => self.g.len() == 1,
                    Some(i) => self.inputs.get(i).is_none_or(|(_, shape)| shape.len() == 1),
                };
                let of_dtype = if vector { Type::F32 } else { dtype }.tolerance();
                let what = format!("{}, {dtype:?}: tensor {i} against {form}", self.what);
                let tolerance = of_dtype.max(tolerance);
                let error = close(&what, found, expected, tolerance);
                if error / tolerance >= worst.1 {
                    worst = (error, error / tolerance);
                }
            }
        }
        report(&format!("{dtype:?}"), worst.0, worst.1);
    }
}

/// A variable as the output of an operator of the pass: an operator that finds its tape by its inputs would take the plain
/// form otherwise.
pub fn on_tape(v: &Var, pass: &Pass) -> Result<Tensor> {
    with_backward([v.as_tensor()], pass, |[x]| Ok(x.clone()), |g| Ok([g.clone()]))
}
