//! A layer of the widest kind with its input, and what it should compute.

use canopy::kernels::{Clouds, MlpLayer, shared_mlp_max};

use crate::common::*;
use crate::layers::{batch_norm, running};

/// A layer's input and parameters, and the gradient of its output.
pub struct Widest {
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

impl Widest {
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

    /// Calls `then` with the layer as an operator on A, W, γ and β, which also returns the running statistics.
    pub fn with<R>(&self, then: impl FnOnce(Case) -> R) -> R {
        let (rows, n, k) = (self.lengths.iter().sum(), self.n, self.k);
        then(Case {
            what: format!("clouds of {:?}, {k} to {n} channels", self.lengths),
            inputs: &[
                (&self.a, &[rows, k]),
                (&self.w, &[n, k]),
                (&self.gamma, &[n]),
                (&self.beta, &[n]),
            ],
            g: &self.g,
            operator: &|v, pass| {
                let bn = batch_norm(&v[2], &v[3], [&vec![0.0; n], &vec![1.0; n]])?;
                let layer = MlpLayer {
                    weight: v[1].as_tensor(),
                    bn: &bn,
                    relu: self.relu,
                };
                let clouds = Clouds::Lengths(self.lengths.clone().into());
                let y = shared_mlp_max(v[0].as_tensor(), &[layer], clouds, pass)?;
                Ok([&[y][..], &running(&bn)?].concat())
            },
        })
    }
}
