//! A layer of the widest kind with its input, and what it should compute.

use candle_core::{DType, Device as Cpu, Tensor as Host, Var};
use canopy::kernels::{BatchNorm, Clouds, MlpLayer, shared_mlp_max};

use crate::common::*;
use crate::device::*;

/// The kernel of the maximum, and the dtype of the tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// f32 without tensor cores.
    Exact,
    Tf32,
    Bf16,
    F16,
}

impl Form {
    pub fn dtype(self) -> Type {
        match self {
            Self::Exact | Self::Tf32 => Type::F32,
            Self::Bf16 => Type::Bf16,
            Self::F16 => Type::F16,
        }
    }
}

/// A layer's input and parameters, and the gradient of its output.
pub struct Case {
    pub lengths: Vec<usize>,
    pub n: usize,
    pub k: usize,
    pub relu: bool,
    pub a: Vec<f32>,
    pub w: Vec<f32>,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
    pub g: Vec<f32>,
}

impl Case {
    /// Values that every dtype holds exactly, of both signs of γ, and one γ of 0; the first two points of a long cloud are
    /// equal to its last.
    pub fn new(lengths: &[usize], n: usize, k: usize, relu: bool) -> Self {
        let rows: usize = lengths.iter().sum();
        let exact = |v: Vec<f32>| -> Vec<f32> { v.iter().map(|v| (v * 64.0).round() / 64.0).collect() };
        let mut a = exact(random(11, rows * k));
        let last = *lengths.last().unwrap();
        if last > 4 {
            let (first, end) = ((rows - last) * k, rows * k);
            a.copy_within(end - k..end, first);
            a.copy_within(end - k..end, first + k);
        }
        let mut gamma = random(13, n);
        gamma[n / 2] = 0.0;
        Self {
            lengths: lengths.to_vec(),
            n,
            k,
            relu,
            a,
            w: exact(random(12, n * k)),
            gamma,
            beta: random(14, n),
            g: exact(random(15, lengths.len() * n)),
        }
    }

    pub fn rows(&self) -> usize {
        self.lengths.iter().sum()
    }

    pub fn starts(&self) -> Vec<i32> {
        let mut starts = vec![0];
        self.lengths
            .iter()
            .for_each(|&n| starts.push(starts[starts.len() - 1] + n as i32));
        starts
    }

    /// Output, gradients of A, W, γ and β, running mean and variance.
    pub fn expected(&self, dtype: DType) -> Vec<Vec<f64>> {
        let (rows, n, k) = (self.rows(), self.n, self.k);
        let kept = std::cell::RefCell::new(Vec::new());
        let inputs: [Input; 4] = [
            (&self.a, &[rows, k]),
            (&self.w, &[n, k]),
            (&self.gamma, &[n]),
            (&self.beta, &[n]),
        ];
        let mut expected = outcome(dtype, &inputs, &self.g, |v, pass| {
            let of = |v: f64| Var::from_tensor(&Host::full(v, n, &Cpu::Cpu)?.to_dtype(dtype)?);
            let bn = BatchNorm {
                gamma: v[2].clone(),
                beta: v[3].clone(),
                mean: of(0.0)?,
                var: of(1.0)?,
                momentum: 0.1,
                eps: 1e-5,
            };
            let layer = MlpLayer {
                weight: v[1].as_tensor(),
                bn: &bn,
                relu: self.relu,
            };
            let clouds = Clouds::Lengths(self.lengths.clone().into());
            let y = shared_mlp_max(v[0].as_tensor(), &[layer], clouds, pass)?;
            *kept.borrow_mut() = vec![flat(bn.mean.as_tensor()), flat(bn.var.as_tensor())];
            Ok(y)
        });
        expected.append(&mut kept.borrow_mut());
        expected
    }
}

/// Channels, rows and chunk bytes of a block of `product.cuh`.
pub fn shared_bytes(k: usize, dtype: Type) -> usize {
    let size = if dtype == Type::F32 { 4 } else { 2 };
    let step = (k * size).next_multiple_of(128) + 16;
    64 * step + 2 * 128 * (128 + 16)
}
