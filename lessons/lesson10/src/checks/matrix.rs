//! Matrices in f64, and a linear layer whose parts are on several ranks.

use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use canopy::{parallel::chunk, split::LinearGrads};
use grader::{Case, Draw, Values, Verdict, given};

/// Numbers that f32 has exactly, row by row.
#[derive(Clone)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    pub fn drawn(draw: &mut Draw, rows: usize, columns: usize) -> Self {
        let numbers = draw.list(rows * columns, -2.0, 2.0);
        Self {
            rows,
            columns,
            numbers: numbers.into_iter().map(f64::from).collect(),
        }
    }

    fn of(rows: usize, columns: usize, at: impl Fn(usize, usize) -> f64) -> Self {
        let numbers = (0..rows * columns)
            .map(|i| at(i / columns, i % columns))
            .collect();
        Self {
            rows,
            columns,
            numbers,
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.numbers[row * self.columns + column]
    }

    pub fn zeros(&self) -> Self {
        Self::of(self.rows, self.columns, |_, _| 0.0)
    }

    pub fn t(&self) -> Self {
        Self::of(self.columns, self.rows, |r, c| self.at(c, r))
    }

    pub fn times(&self, other: &Self) -> Self {
        let sum = |r, c| (0..self.columns).map(|k| self.at(r, k) * other.at(k, c)).sum();
        Self::of(self.rows, other.columns, sum)
    }

    /// Adds the only row of `row` to each row.
    pub fn plus_row(&self, row: &Self) -> Self {
        Self::of(self.rows, self.columns, |r, c| self.at(r, c) + row.at(0, c))
    }

    /// The sum of all rows.
    pub fn sum(&self) -> Self {
        let sum = |_, c| (0..self.rows).map(|r| self.at(r, c)).sum();
        Self::of(1, self.columns, sum)
    }

    pub fn some_rows(&self, rows: Range<usize>) -> Self {
        Self::of(rows.len(), self.columns, |r, c| self.at(rows.start + r, c))
    }

    pub fn some_columns(&self, columns: Range<usize>) -> Self {
        Self::of(self.rows, columns.len(), |r, c| self.at(r, columns.start + c))
    }

    pub fn tensor(&self) -> Result<Tensor> {
        let numbers: Vec<f32> = self.numbers.iter().map(|&v| v as f32).collect();
        Tensor::from_vec(numbers, (self.rows, self.columns), &Device::Cpu)
    }

    /// The only row, as a tensor of one axis.
    pub fn vector(&self) -> Result<Tensor> {
        self.tensor()?.squeeze(0)
    }

    pub fn values(&self) -> Values {
        Values::tensor(self.numbers.clone(), &[self.rows, self.columns], "f32")
    }

    pub fn values_of_row(&self) -> Values {
        Values::tensor(self.numbers.clone(), &[self.columns], "f32")
    }
}

/// A linear layer, its input and the gradient of its output.
pub struct Layer {
    pub x: Matrix,
    pub weight: Matrix,
    /// One row.
    pub bias: Matrix,
    pub grad: Matrix,
}

impl Layer {
    /// With more inputs and outputs than `world` ranks.
    pub fn drawn(draw: &mut Draw, world: usize) -> Self {
        let rows = draw.whole(2, 5);
        let inputs = world + draw.whole(2, 4);
        // Not as many as inputs.
        let outputs = inputs + draw.whole(1, 3);
        Self::with(draw, rows, inputs, outputs)
    }

    /// With as many outputs on each of `world` ranks, so that gradients of the weight can be summed by mistake.
    pub fn even(draw: &mut Draw, world: usize) -> Self {
        let (rows, inputs) = (draw.whole(2, 5), world + draw.whole(2, 4));
        Self::with(draw, rows, inputs, 4 * world)
    }

    fn with(draw: &mut Draw, rows: usize, inputs: usize, outputs: usize) -> Self {
        Self {
            x: Matrix::drawn(draw, rows, inputs),
            weight: Matrix::drawn(draw, outputs, inputs),
            bias: Matrix::drawn(draw, 1, outputs),
            grad: Matrix::drawn(draw, rows, outputs),
        }
    }

    pub fn case(&self, world: usize) -> Case {
        given(format!(
            "{world} rank{}, {} rows, {} inputs, {} outputs",
            if world == 1 { "" } else { "s" },
            self.x.rows,
            self.x.columns,
            self.weight.rows
        ))
        .at_scale(1.0)
    }

    /// What rank `rank` has if the outputs are split: x, and its parts of weight, bias and gradient.
    pub fn of_outputs(&self, rank: usize, world: usize) -> Self {
        let own = chunk(self.weight.rows, rank, world);
        Self {
            x: self.x.clone(),
            weight: self.weight.some_rows(own.clone()),
            bias: self.bias.some_columns(own.clone()),
            grad: self.grad.some_columns(own),
        }
    }

    /// What rank `rank` has if the inputs are split: its parts of x and weight, and the others whole.
    pub fn of_inputs(&self, rank: usize, world: usize) -> Self {
        let own = chunk(self.x.columns, rank, world);
        Self {
            x: self.x.some_columns(own.clone()),
            weight: self.weight.some_columns(own),
            bias: self.bias.clone(),
            grad: self.grad.clone(),
        }
    }

    pub fn output(&self) -> Matrix {
        self.x.times(&self.weight.t()).plus_row(&self.bias)
    }

    pub fn grad_x(&self) -> Matrix {
        self.grad.times(&self.weight)
    }

    pub fn grad_weight(&self) -> Matrix {
        self.grad.t().times(&self.x)
    }
}

pub fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor
        .to_dtype(candle_core::DType::F64)?
        .flatten_all()?
        .to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// Compares the gradients of weight and bias on `rank` with those of `own`.
pub fn own_gradients(case: &Case, rank: usize, got: &LinearGrads, own: &Layer) -> Verdict {
    let what = format!("gradient of rank {rank}'s weight");
    case.close(&what, values(&got.weight)?, own.grad_weight().values())?;
    bias_gradient(case, rank, got, own)
}

pub fn bias_gradient(case: &Case, rank: usize, got: &LinearGrads, own: &Layer) -> Verdict {
    let what = format!("gradient of rank {rank}'s bias");
    case.close(&what, values(&got.bias)?, own.grad.sum().values_of_row())
}

/// Compares the gradient of the input on `rank`.
pub fn input_gradient(case: &Case, rank: usize, got: &LinearGrads, expected: &Matrix) -> Verdict {
    let what = format!("gradient of rank {rank}'s input");
    case.close(&what, values(&got.x)?, expected.values())
}

/// The result, or its error as a finding.
pub fn ok<T>(case: &Case, result: anyhow::Result<T>) -> std::result::Result<T, grader::Finding> {
    result.map_err(|error| {
        let found = case.require("result", false, format!("Err: {error}"));
        found.expect_err("always a finding")
    })
}
