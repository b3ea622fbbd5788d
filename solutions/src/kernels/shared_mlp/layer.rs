//! A layer: its weights, padded to whole SIMD vectors, and its batch statistics. Also the blocks of rows that a layer
//! reads.

use std::ops::Deref;

use candle_core::{Device, Result, Tensor, Var};
use rayon::prelude::*;

use crate::kernels::pool::Pooled;
use crate::kernels::tile::padded;
use crate::kernels::values::{Values, read};
use crate::kernels::{BatchNorm, vector};

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

/// Rows of `k` values, each padded with zeros to whole SIMD vectors.
pub fn pad(rows: &[f32], k: usize) -> Vec<f32> {
    let kp = padded(k);
    if k == kp {
        return rows.to_vec();
    }
    let mut out = vec![0.0; rows.len() / k * kp];
    let blocks = out.par_chunks_mut(BLOCK * kp).zip(rows.par_chunks(BLOCK * k));
    blocks.for_each(|(to, from)| {
        for (to, from) in to.chunks_exact_mut(kp).zip(from.chunks_exact(k)) {
            to[..k].copy_from_slice(from);
        }
    });
    out
}

/// The first `k` values of each row of `kp`.
pub fn crop(rows: Vec<f32>, kp: usize, k: usize) -> Vec<f32> {
    if k == kp {
        return rows;
    }
    let mut out = Vec::with_capacity(rows.len() / kp * k);
    rows.chunks_exact(kp)
        .for_each(|row| out.extend_from_slice(&row[..k]));
    out
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
    /// `[n, k]`, in the variable's memory; none if the layer is batch norm alone.
    weight: Option<Tensor>,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
    /// Statistics of the batch in training, otherwise the running statistics; `[np]`, as all vectors below.
    pub mean: Vec<f32>,
    pub var: Vec<f32>,
    pub rstd: Vec<f32>,
    /// `x̂·γ + β = y·scale + shift`.
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
    pub bn: BatchNorm,
    /// The product before batch norm, `[rows, np]`. It is stored in training only, and not for the layer before a
    /// maximum.
    pub y: Pooled,
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
        let np = padded(n);
        let vector = |t: &Tensor| -> Result<Vec<f32>> { Ok(pad(&read(t)?, n)) };
        let shared = |w: &Tensor| -> Result<Tensor> { Ok(w.contiguous()?.detach()) };
        let mut new = Self {
            k,
            kp: padded(k),
            n,
            np,
            relu,
            weight: weight.map(shared).transpose()?,
            gamma: vector(gamma)?,
            beta: vector(beta)?,
            mean: vector(bn.mean.as_tensor())?,
            var: vector(bn.var.as_tensor())?,
            rstd: vec![0.0; np],
            scale: vec![0.0; np],
            shift: vec![0.0; np],
            bn: bn.clone(),
            y: Pooled::default(),
        };
        new.fold();
        Ok(new)
    }

    /// Whether the layer multiplies by a weight before it normalises.
    pub fn is_linear(&self) -> bool {
        self.weight.is_some()
    }

    /// The weight `[np, kp]`, empty if there is none: the memory of its variable, or a padded copy.
    pub fn weight(&self) -> Result<Box<dyn Deref<Target = [f32]> + Sync + '_>> {
        let Some(weight) = &self.weight else {
            return Ok(Box::new(Vec::new()));
        };
        let values = Values::of(weight)?;
        if [self.n, self.k] == [self.np, self.kp] {
            return Ok(Box::new(values));
        }
        let mut copy = pad(&values, self.k);
        copy.resize(self.np * self.kp, 0.0);
        Ok(Box::new(copy))
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
            let rstd = 1.0 / (f64::from(self.var[c]) + self.bn.eps).sqrt();
            let scale = f64::from(self.gamma[c]) * rstd;
            self.rstd[c] = rstd as f32;
            self.scale[c] = scale as f32;
            self.shift[c] = (f64::from(self.beta[c]) - f64::from(self.mean[c]) * scale) as f32;
        }
    }

    /// Moves the running statistics toward those of the batch, with the unbiased variance. `rows` counts the rows of
    /// all ranks.
    pub fn update_running(&self, rows: f64) -> Result<()> {
        let bn = &self.bn;
        let unbiased = if rows > 1.0 { rows / (rows - 1.0) } else { 1.0 };
        let update = |running: &Var, batch: &[f32], factor: f64| -> Result<()> {
            let mut new = read(running)?;
            for (r, &b) in new.iter_mut().zip(batch) {
                *r = (f64::from(*r) * (1.0 - bn.momentum) + f64::from(b) * factor * bn.momentum) as f32;
            }
            running.set(&Tensor::from_vec(new, self.n, &Device::Cpu)?)
        };
        update(&bn.mean, &self.mean, 1.0)?;
        update(&bn.var, &self.var, unbiased)
    }

    /// Writes rows `from..to` of the layer's activation to `out`.
    pub fn activate(&self, from: usize, to: usize, out: &mut [f32]) {
        let y = &self.y[from * self.np..to * self.np];
        vector::normalise(out, y, &self.scale, &self.shift, self.relu);
    }

    /// The transposed weight `[k, np]` as the right operand of the forward product; empty if there is none.
    pub fn forward_operand(&self) -> Result<Vec<f32>> {
        if !self.is_linear() {
            return Ok(Vec::new());
        }
        let weight = self.weight()?;
        let mut t = vec![0.0; self.k * self.np];
        // Blocks of 16 × 16, so that the lines of both matrices stay in the cache.
        t.par_chunks_mut(64 * self.np).enumerate().for_each(|(chunk, t)| {
            for from in (0..self.n).step_by(16) {
                for (i, lines) in t.chunks_mut(16 * self.np).enumerate() {
                    let weight = &weight[64 * chunk + 16 * i..];
                    for c in from..self.n.min(from + 16) {
                        for (line, w) in lines.chunks_exact_mut(self.np).zip(&weight[c * self.kp..]) {
                            line[c] = *w;
                        }
                    }
                }
            }
        });
        Ok(t)
    }
}

/// What a layer reads: the operator's own input in padded rows of the given length, or the product of the layer before
/// it, to which batch norm and ReLU are applied during the read.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Input(&'a [f32], usize),
    Layer(&'a Layer),
}

impl<'a> Source<'a> {
    /// What `layer` reads, with the layers `before` it.
    pub fn of(x: &'a [f32], before: &'a [Layer], layer: &Layer) -> Self {
        before.last().map_or(Self::Input(x, layer.kp), Self::Layer)
    }

    /// Rows `from..to`: in place, or in `buffer`.
    pub fn rows<'b>(&'b self, from: usize, to: usize, buffer: &'b mut Vec<f32>) -> &'b [f32] {
        match *self {
            Self::Input(x, width) => &x[from * width..to * width],
            Self::Layer(l) => {
                buffer.resize((to - from) * l.np, 0.0);
                l.activate(from, to, buffer);
                buffer
            }
        }
    }

    /// Writes rows `from..to` to `out`.
    pub fn write(&self, from: usize, to: usize, out: &mut [f32]) {
        match *self {
            Self::Input(x, width) => out.copy_from_slice(&x[from * width..to * width]),
            Self::Layer(l) => l.activate(from, to, out),
        }
    }
}
