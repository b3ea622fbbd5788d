//! Operators with inputs: what they leave in any form, in any dtype and on any device. `kernels` compares the fused form on the
//! CPU with the plain one, `cuda` the kernels with both, and `instructions` the instruction sets with each other.

mod list;

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::kernels::{self, Pass, loss_by_candle, with_backward};
use canopy_data::Philox;
use half::{bf16, f16};

pub use list::*;

/// The values as `dtype` holds them.
pub fn rounded(dtype: DType, values: &[f32]) -> Vec<f32> {
    let round = |&v: &f32| match dtype {
        DType::BF16 => bf16::from_f32(v).to_f32(),
        DType::F16 => f16::from_f32(v).to_f32(),
        _ => v,
    };
    values.iter().map(round).collect()
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

/// Fails at the first value whose bits differ.
pub fn assert_same_bits(what: &str, a: &[Vec<f64>], b: &[Vec<f64>]) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        for (j, (a, b)) in a.iter().zip(b).enumerate() {
            assert!(
                a.to_bits() == b.to_bits(),
                "{what}: tensor {i}[{j}] is {b}, expected {a}"
            );
        }
    }
}

pub fn flat(t: &Tensor) -> Vec<f64> {
    let values = t.to_dtype(DType::F64).unwrap().flatten_all().unwrap();
    values.to_vec1().unwrap()
}

/// The values that kernels leave, tensor by tensor.
pub type Values = Result<Vec<Vec<f64>>>;

/// An operator: the output, and further tensors to compare. Its first input comes on the tape of the pass, where operators that
/// find their tape by their inputs look for it; all inputs come as variables.
pub type Operator = Box<dyn Fn(&Tensor, &[Var], &Pass) -> Result<Vec<Tensor>> + Send + Sync>;

/// How close the results of an operator must be.
#[derive(Clone, Copy)]
pub struct Bound {
    /// Within so many roundings of the dtype, as a fraction of the greatest value; 0: equal to the reference, rounded to the dtype.
    pub roundings: f64,
    /// Or within this fraction, if that is more.
    pub tolerance: f64,
    /// The dtypes of the references: of f64, which is the plain form, and of f32, the CPU twin.
    pub references: &'static [DType],
}

impl Bound {
    pub const EXACT: Self = Self {
        roundings: 0.0,
        tolerance: 0.0,
        references: &[DType::F32],
    };

    /// Of results that are rounded so often, or differ by the tolerance, from both references.
    pub const fn close(roundings: f64, tolerance: f64) -> Self {
        Self {
            roundings,
            tolerance,
            references: &[DType::F64, DType::F32],
        }
    }
}

/// An operator on inputs.
pub struct Case {
    pub name: &'static str,
    pub sizes: String,
    /// Values and shapes. In low precision, matrices are rounded; vectors are f32.
    pub inputs: Vec<(Vec<f32>, Vec<usize>)>,
    /// The gradient of the output; random if there is none.
    pub g: Option<Vec<f32>>,
    pub operator: Operator,
    pub bound: Bound,
    /// In training or in evaluation.
    pub train: bool,
}

impl Case {
    /// Random inputs of these shapes, from the seed 1 on. Results are rounded once.
    pub fn new(
        name: &'static str,
        sizes: impl std::fmt::Debug,
        shapes: &[&[usize]],
        operator: impl Fn(&Tensor, &[Var], &Pass) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    ) -> Self {
        let input = |(seed, shape): (u64, &&[usize])| (random(seed, shape.iter().product()), shape.to_vec());
        Self {
            name,
            sizes: format!("{sizes:?}"),
            inputs: (1..).zip(shapes).map(input).collect(),
            g: None,
            operator: Box::new(operator),
            bound: Bound::close(1.0, 0.0),
            train: true,
        }
    }

    pub fn within(self, bound: Bound) -> Self {
        Self { bound, ..self }
    }

    /// The operator's output, the gradients of its inputs in training, and its further tensors: of inputs as `of` holds them, on
    /// a device in a dtype in which the operator computes.
    pub fn outcome(&self, of: DType, dtype: DType, device: &Device, pass: &Pass) -> Values {
        let variable = |(values, shape): &(Vec<f32>, Vec<usize>)| {
            let (values, dtype) = match (shape.len(), dtype) {
                (1, DType::BF16 | DType::F16) => (values.clone(), DType::F32),
                (1, dtype) => (values.clone(), dtype),
                (_, dtype) => (rounded(of, values), dtype),
            };
            Var::from_tensor(&Tensor::from_vec(values, &shape[..], device)?.to_dtype(dtype)?)
        };
        let vars = self.inputs.iter().map(variable).collect::<Result<Vec<_>>>()?;
        let first = vars[0].as_tensor();
        let x = with_backward([first], pass, |[x]| Ok(x.clone()), |g| Ok([g.clone()]))?;
        let outputs = (self.operator)(&x, &vars, pass)?;
        let mut found: Vec<_> = outputs.iter().map(flat).collect();
        if pass.train {
            let y = &outputs[0];
            let g = match (&self.g, y.elem_count()) {
                (Some(g), _) => rounded(of, g),
                (None, 1) => vec![0.5],
                (None, n) => rounded(of, &random(100, n)),
            };
            let g = Tensor::from_vec(g, y.dims(), device)?.to_dtype(y.dtype())?;
            let loss = loss_by_candle(y, |y| (y * g)?.sum_all())?;
            let mut gradients = HashMap::new();
            kernels::backward(&loss, pass, &mut |v, g| {
                gradients.insert(v.id(), g);
                Ok::<_, candle_core::Error>(())
            })?;
            let of = |v: &Var| gradients.get(&v.id()).map_or_else(Vec::new, flat);
            found.splice(1..1, vars.iter().map(of));
        }
        Ok(found)
    }

    pub fn pass(&self) -> Pass {
        if self.train {
            Pass::train(1, 0)
        } else {
            Pass::eval()
        }
    }

    /// Compares the fused operator on the CPU with the plain one in f64, in training and in evaluation.
    pub fn matches_plain(&self, tolerance: f64) {
        for pass in [Pass::train(1, 0), Pass::eval()] {
            let fused = self.on_cpu(DType::F32, &pass);
            let plain = self.on_cpu(DType::F64, &pass.plain(true));
            for (i, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
                let what = format!("{}, {}: tensor {i} of {}", self.name, self.sizes, fused.len());
                close(&what, fused, plain, tolerance);
            }
        }
    }

    /// The outcome on the CPU in `dtype`.
    pub fn on_cpu(&self, dtype: DType, pass: &Pass) -> Vec<Vec<f64>> {
        self.outcome(DType::F32, dtype, &Device::Cpu, pass).unwrap()
    }
}
