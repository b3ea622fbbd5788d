//! A layer: its weights, padded to whole SIMD vectors, and its batch statistics. Also the blocks of rows that a layer
//! reads.

use candle_core::{Device, Result, Tensor};
use rayon::prelude::*;

use crate::kernels::BatchNorm;
use crate::kernels::pool::Pooled;
use crate::kernels::tile::padded;
use crate::kernels::values::{Values, read};
use crate::kernels::vector;

/// Rows of a block. With 128 channels a block takes 96 KiB, so that a block of each operand fits into a core's L2
/// cache.
pub const BLOCK: usize = 192;

/// Maximum number of groups of blocks. Each group sums its own gradients, and then the sums of the groups are added in
/// order.
const GROUPS: usize = 64;

/// Rows of a group, a multiple of [`BLOCK`].
pub fn group_rows(rows: usize) -> usize {
    rows.div_ceil(BLOCK).div_ceil(GROUPS) * BLOCK
}

pub struct Layer {
    /// Input channels.
    pub k: usize,
    /// Input channels, padded to whole SIMD vectors.
    pub kp: usize,
    /// Output channels.
    pub n: usize,
    /// Output channels, padded to whole SIMD vectors.
    pub np: usize,
    pub relu: bool,
    /// `[np, kp]`; empty if the layer is batch norm alone.
    pub weight: Vec<f32>,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
    /// Statistics of the batch in training, otherwise the running statistics; `[np]`, as all vectors below.
    pub mean: Vec<f32>,
    pub var: Vec<f32>,
    pub rstd: Vec<f32>,
    /// `x̂·γ + β = y·scale + shift`.
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
    pub eps: f64,
    /// The product before batch norm, `[rows, np]`. It is stored in training only, and not for the layer before a
    /// maximum.
    pub y: Option<Pooled>,
}

impl Layer {
    /// A layer without a weight only normalises its input.
    pub fn new(
        weight: Option<&Tensor>,
        [gamma, beta]: [&Tensor; 2],
        bn: &BatchNorm,
        relu: bool,
    ) -> Result<Self> {
        let n = gamma.dim(0)?;
        let k = weight.map_or(Ok(n), |w| w.dim(1))?;
        let (np, kp) = (padded(n), padded(k));
        let pad = |t: &Tensor| -> Result<Vec<f32>> {
            let mut v = read(t)?;
            v.resize(np, 0.0);
            Ok(v)
        };
        let mut padded_weight = Vec::new();
        if let Some(weight) = weight {
            let weight = weight.contiguous()?;
            let weight = Values::of(&weight)?;
            if (np, kp) == (n, k) {
                padded_weight = weight.to_vec();
            } else {
                padded_weight.resize(np * kp, 0.0);
                let rows = padded_weight.chunks_exact_mut(kp);
                for (to, from) in rows.zip(weight.chunks_exact(k)) {
                    to[..k].copy_from_slice(from);
                }
            }
        }
        let mut new = Self {
            k,
            kp,
            n,
            np,
            relu,
            weight: padded_weight,
            gamma: pad(gamma)?,
            beta: pad(beta)?,
            mean: pad(bn.mean.as_tensor())?,
            var: pad(bn.var.as_tensor())?,
            rstd: vec![0.0; np],
            scale: vec![0.0; np],
            shift: vec![0.0; np],
            eps: bn.eps,
            y: None,
        };
        new.fold();
        Ok(new)
    }

    /// Whether the layer multiplies by a weight before it normalises.
    pub fn is_linear(&self) -> bool {
        !self.weight.is_empty()
    }

    /// Sets the statistics of the batch, and the factors that follow from them.
    pub fn set_statistics(&mut self, mean: &[f64], var: &[f64]) {
        for c in 0..self.n {
            self.mean[c] = mean[c] as f32;
            self.var[c] = var[c] as f32;
        }
        self.fold();
    }

    fn fold(&mut self) {
        for c in 0..self.n {
            let rstd = 1.0 / (f64::from(self.var[c]) + self.eps).sqrt();
            let scale = f64::from(self.gamma[c]) * rstd;
            self.rstd[c] = rstd as f32;
            self.scale[c] = scale as f32;
            self.shift[c] = (f64::from(self.beta[c]) - f64::from(self.mean[c]) * scale) as f32;
        }
    }

    /// Moves the running statistics toward those of the batch, with the unbiased variance. `rows` counts the rows of
    /// all ranks.
    pub fn update_running(&self, bn: &BatchNorm, rows: f64) -> Result<()> {
        let unbiased = if rows > 1.0 { rows / (rows - 1.0) } else { 1.0 };
        let update = |running: &candle_core::Var, batch: &[f32], factor: f64| -> Result<()> {
            let old = running.as_tensor().contiguous()?;
            let new: Vec<f32> = Values::of(&old)?
                .iter()
                .zip(batch)
                .map(|(&r, &b)| {
                    (f64::from(r) * (1.0 - bn.momentum) + f64::from(b) * factor * bn.momentum) as f32
                })
                .collect();
            running.set(&Tensor::from_vec(new, self.n, &Device::Cpu)?)
        };
        update(&bn.mean, &self.mean, 1.0)?;
        update(&bn.var, &self.var, unbiased)
    }

    /// Writes rows `from..to` of the layer's activation to `out`.
    pub fn activate(&self, from: usize, to: usize, out: &mut [f32]) {
        let y = &self.y.as_deref().unwrap_or_default()[from * self.np..to * self.np];
        vector::normalise(out, y, &self.scale, &self.shift, self.relu);
    }

    /// The transposed weight, `[k, np]`, the right operand of the forward product; empty if there is none.
    pub fn transposed(&self) -> Vec<f32> {
        if !self.is_linear() {
            return Vec::new();
        }
        let mut t = vec![0.0; self.k * self.np];
        // Blocks of 16 × 16, so that the lines of both matrices stay in the cache.
        t.par_chunks_mut(64 * self.np).enumerate().for_each(|(chunk, t)| {
            for from in (0..self.n).step_by(16) {
                for (i, lines) in t.chunks_mut(16 * self.np).enumerate() {
                    let weight = &self.weight[64 * chunk + 16 * i..];
                    for c in from..self.n.min(from + 16) {
                        for (line, w) in lines.chunks_exact_mut(self.np).zip(&weight[c * self.kp..]) {
                            line[c] = *w;
                        }
                    }
                }
            }
        });
        t
    }
}

/// What a layer reads: the operator's own input, or the product of the layer before it, to which batch norm and ReLU
/// are applied during the read.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Input { x: &'a [f32], k: usize },
    Layer(&'a Layer),
}

impl Source<'_> {
    /// Returns rows `from..to` as a dense matrix with padded rows. The rows are written to `scratch` unless they can be
    /// read in place.
    pub fn block<'b>(&'b self, from: usize, to: usize, scratch: &'b mut Vec<f32>) -> &'b [f32] {
        match *self {
            Source::Input { x, k } => input_block(x, k, from, to, scratch),
            Source::Layer(l) => {
                scratch.resize((to - from) * l.np, 0.0);
                l.activate(from, to, scratch);
                scratch
            }
        }
    }
}

/// Returns rows `from..to` of a matrix with rows of `k` values, padded to whole SIMD vectors. If `k` needs no padding,
/// the rows are read in place, otherwise they are copied to `scratch`.
pub fn input_block<'a>(
    x: &'a [f32],
    k: usize,
    from: usize,
    to: usize,
    scratch: &'a mut Vec<f32>,
) -> &'a [f32] {
    let rows = &x[from * k..to * k];
    let kp = padded(k);
    if k == kp {
        return rows;
    }
    scratch.clear();
    scratch.resize((to - from) * kp, 0.0);
    for (to, row) in scratch.chunks_exact_mut(kp).zip(rows.chunks_exact(k)) {
        to[..k].copy_from_slice(row);
    }
    scratch
}
