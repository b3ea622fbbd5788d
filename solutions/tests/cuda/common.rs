//! Inputs, references and comparisons.

use std::sync::{Arc, Mutex};
use std::thread;

use candle_core::{DType, Device as Cpu, Result, Tensor, Var};
use canopy::kernels::device::Launcher;
use canopy::kernels::{self, Pass, loss_by_candle, with_backward};
use canopy_data::Philox;
use half::{bf16, f16};

use crate::emulated::device;

/// The dtypes in which the kernels have a form.
pub const DTYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The value as `dtype` holds it.
pub fn round(dtype: DType, v: f32) -> f32 {
    match dtype {
        DType::BF16 => bf16::from_f32(v).to_f32(),
        DType::F16 => f16::from_f32(v).to_f32(),
        _ => v,
    }
}

/// The values as `dtype` holds them.
pub fn rounded(dtype: DType, values: &[f32]) -> Vec<f32> {
    values.iter().map(|&v| round(dtype, v)).collect()
}

/// The tolerance of a result that is rounded to `dtype` once, as a fraction of the greatest value.
fn tolerance_of(dtype: DType) -> f64 {
    match dtype {
        DType::BF16 => 1.0 / 256.0,
        DType::F16 => 1.0 / 1024.0,
        _ => 1e-5,
    }
}

/// Random values by seed, uniform within ±1.
pub fn random(seed: u64, n: usize) -> Vec<f32> {
    let mut r = Philox::new(seed, 0);
    (0..n).map(|_| r.range(-1.0, 1.0) as f32).collect()
}

/// The difference of each value, as a fraction of the greatest expected one.
pub fn errors(found: &[f64], expected: &[f64]) -> Vec<f64> {
    let size = expected.iter().fold(1e-3, |size: f64, v| size.max(v.abs()));
    let error = |(f, e): (&f64, &f64)| (f - e).abs() / size;
    found.iter().zip(expected).map(error).collect()
}

/// The greatest of values that are not negative; NaN if one of them is.
pub fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    let greater = |top: f64, v: f64| if top.is_nan() || v <= top { top } else { v };
    values.into_iter().fold(0.0, greater)
}

/// Fails at the first value that differs by more than `tolerance` times the greatest expected value. Returns the greatest
/// such difference.
pub fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) -> f64 {
    assert_eq!(found.len(), expected.len(), "{what}");
    let errors = errors(found, expected);
    for (i, error) in errors.iter().enumerate() {
        let (f, e) = (found[i], expected[i]);
        assert!(
            *error <= tolerance,
            "{what}[{i}]: found {f}, expected {e}: {error:e} of the greatest value, tolerance {tolerance:e}"
        );
    }
    greatest(errors)
}

/// Prints the line from which `tests/gpu` takes an error: it is relative, and `share` of its tolerance.
pub fn report(what: &str, dtype: &str, error: f64, share: f64) {
    println!("error {what} {} {error:.1e} {share:.3}", dtype.to_lowercase());
}

pub fn flat(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64)
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1()
        .unwrap()
}

/// Calls `check` with each of `items`, on as many threads as there are cores.
pub fn each_in_parallel<T: Send>(items: Vec<T>, check: impl Fn(T) + Sync) {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = next() {
                    check(item);
                }
            });
        }
    });
}

/// The values that kernels leave, tensor by tensor.
pub type Values = Result<Vec<Vec<f64>>>;

/// An operator on inputs: its output, and further tensors to compare.
pub type Operator = Box<dyn Fn(&[Var], &Pass) -> Result<Vec<Tensor>> + Send>;

/// How close the results of an operator must be.
#[derive(Clone, Copy)]
pub enum Bound {
    /// Those of the CPU twin, rounded to the dtype.
    Exact,
    /// Within so many roundings of the dtype, or within the tolerance if that is more, of f64 and of the CPU twin.
    Close { roundings: f64, tolerance: f64 },
    /// Within the tolerance, of f64 alone.
    CloseToF64 { tolerance: f64 },
}

impl Bound {
    /// Of results that are rounded once, at least `tolerance`.
    pub const fn close(tolerance: f64) -> Self {
        Self::Close {
            roundings: 1.0,
            tolerance,
        }
    }
}

/// An operator on inputs, with the gradient of its output.
pub struct Case {
    pub name: &'static str,
    pub sizes: String,
    /// Values and shapes. In low precision, matrices are rounded; vectors are f32.
    pub inputs: Vec<(Vec<f32>, Vec<usize>)>,
    pub g: Vec<f32>,
    pub operator: Operator,
    pub bound: Bound,
}

impl Case {
    /// The inputs as `dtype` holds them, on a device in a dtype in which the operator computes.
    fn variables(&self, of: DType, dtype: DType, device: &Cpu) -> Result<Vec<Var>> {
        let variable = |(values, shape): &(Vec<f32>, Vec<usize>)| {
            let (values, dtype) = match (shape.len(), dtype) {
                (1, DType::BF16 | DType::F16) => (values.clone(), DType::F32),
                (1, dtype) => (values.clone(), dtype),
                (_, dtype) => (rounded(of, values), dtype),
            };
            Var::from_tensor(&Tensor::from_vec(values, &shape[..], device)?.to_dtype(dtype)?)
        };
        self.inputs.iter().map(variable).collect()
    }

    /// The operator's output and its further tensors, without gradients.
    pub fn forward(&self, dtype: DType, device: &Cpu, pass: &Pass) -> Values {
        let outputs = (self.operator)(&self.variables(DType::F32, dtype, device)?, pass)?;
        Ok(outputs.iter().map(flat).collect())
    }

    /// The operator's output, the gradients of its inputs, and its further tensors: of inputs as `of` holds them.
    pub fn outcome(&self, of: DType, dtype: DType, device: &Cpu, pass: &Pass) -> Values {
        let vars = self.variables(of, dtype, device)?;
        let mut outputs = (self.operator)(&vars, pass)?;
        let further = outputs.split_off(1);
        let y = outputs.remove(0);
        let g = Tensor::from_vec(rounded(of, &self.g), y.dims(), device)?.to_dtype(y.dtype())?;
        let loss = loss_by_candle(&y, |y| (y * g)?.sum_all())?;
        let gradients = kernels::backward(&loss, pass)?;
        let mut found = vec![flat(&y)];
        found.extend(vars.iter().map(|v| gradients.get(v).map_or_else(Vec::new, flat)));
        found.extend(further.iter().map(flat));
        Ok(found)
    }

    /// On the emulated grid, or on the GPU under test.
    pub fn on(&self, launcher: &Arc<impl Launcher + 'static>, dtype: DType) -> Values {
        let pass = Pass::train(1, 0).with_launcher(launcher.clone());
        self.outcome(dtype, dtype, device(), &pass)
    }

    /// Compares what the operator launches with f64 by the plain form, and with the CPU twin.
    pub fn check(&self, launcher: &Arc<impl Launcher + 'static>, dtype: DType) {
        let what = format!("{}, {}, {dtype:?}", self.name, self.sizes);
        let found = self.on(launcher, dtype).unwrap();
        let pass = Pass::train(1, 0);
        let twin = || self.outcome(dtype, DType::F32, &Cpu::Cpu, &pass).unwrap();
        let in_f64 = || {
            let plain = pass.clone().plain(true);
            self.outcome(dtype, DType::F64, &Cpu::Cpu, &plain).unwrap()
        };
        let (roundings, least, references) = match self.bound {
            Bound::Exact => {
                let rounded = |v: &Vec<f64>| v.iter().map(|&v| f64::from(round(dtype, v as f32))).collect();
                assert_eq!(
                    found,
                    twin().iter().map(rounded).collect::<Vec<Vec<f64>>>(),
                    "{what}"
                );
                return;
            }
            Bound::Close { roundings, tolerance } => (roundings, tolerance, vec![in_f64(), twin()]),
            Bound::CloseToF64 { tolerance } => (1.0, tolerance, vec![in_f64()]),
        };
        let mut worst = (0.0, 0.0);
        for (expected, form) in references.iter().zip(["f64", "the CPU twin"]) {
            assert_eq!(found.len(), expected.len());
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                // Vectors and losses are f32.
                let vector = match i.checked_sub(1) {
                    None => self.g.len() == 1,
                    Some(i) => self.inputs.get(i).is_none_or(|(_, shape)| shape.len() == 1),
                };
                let of_dtype = tolerance_of(if vector { DType::F32 } else { dtype });
                let tolerance = (roundings * of_dtype).max(least);
                let error = close(
                    &format!("{what}: tensor {i} against {form}"),
                    found,
                    expected,
                    tolerance,
                );
                if error / tolerance >= worst.1 {
                    worst = (error, error / tolerance);
                }
            }
        }
        report(
            &format!("operators::{}", self.name),
            &format!("{dtype:?}"),
            worst.0,
            worst.1,
        );
    }
}

/// A variable as the output of an operator of the pass: an operator that finds its tape by its inputs would take the plain
/// form otherwise.
pub fn on_tape(v: &Var, pass: &Pass) -> Result<Tensor> {
    with_backward([v.as_tensor()], pass, |[x]| Ok(x.clone()), |g| Ok([g.clone()]))
}
