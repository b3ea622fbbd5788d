//! A layer: its weights, padded to whole SIMD vectors, and its batch statistics. Also the blocks of rows that a layer
//! reads.

use candle_core::{Device, Result, Tensor};
use rayon::prelude::*;

use super::stored::Stored;
use crate::kernels::bf16::{Block, Right, round};
use crate::kernels::tile::padded;
use crate::kernels::values::{Values, read};
use crate::kernels::vector::{self, Number};
use crate::kernels::{BatchNorm, Bf16Unit};

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
    /// If it is not off, weight, input, product and gradients are rounded to bf16 where autocast rounds them.
    pub unit: Bf16Unit,
    /// `[np, kp]`; empty if the layer is batch norm alone, or while the weight is released.
    pub weight: Vec<f32>,
    linear: bool,
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
    pub y: Stored,
}

impl Layer {
    /// A layer without a weight only normalises its input.
    pub fn new(
        weight: Option<&Tensor>,
        [gamma, beta]: [&Tensor; 2],
        bn: &BatchNorm,
        relu: bool,
        unit: Bf16Unit,
    ) -> Result<Self> {
        let n = gamma.dim(0)?;
        let k = weight.map_or(Ok(n), |w| w.dim(1))?;
        let (np, kp) = (padded(n), padded(k));
        let pad = |t: &Tensor| -> Result<Vec<f32>> {
            let mut v = read(t)?;
            v.resize(np, 0.0);
            Ok(v)
        };
        let mut new = Self {
            k,
            kp,
            n,
            np,
            relu,
            unit,
            weight: Vec::new(),
            linear: weight.is_some(),
            gamma: pad(gamma)?,
            beta: pad(beta)?,
            mean: pad(bn.mean.as_tensor())?,
            var: pad(bn.var.as_tensor())?,
            rstd: vec![0.0; np],
            scale: vec![0.0; np],
            shift: vec![0.0; np],
            eps: bn.eps,
            y: Stored::Nothing,
        };
        new.fold();
        if let Some(weight) = weight {
            new.load(weight)?;
        }
        Ok(new)
    }

    /// Reads the weight `[n, k]`.
    pub fn load(&mut self, weight: &Tensor) -> Result<()> {
        let weight = weight.contiguous()?;
        let weight = Values::of(&weight)?;
        let mut padded = Vec::new();
        if (self.np, self.kp) == (self.n, self.k) {
            padded = weight.to_vec();
        } else {
            padded.resize(self.np * self.kp, 0.0);
            let rows = padded.chunks_exact_mut(self.kp);
            for (to, from) in rows.zip(weight.chunks_exact(self.k)) {
                to[..self.k].copy_from_slice(from);
            }
        }
        round(self.unit, &mut padded);
        self.weight = padded;
        Ok(())
    }

    /// Whether the layer multiplies by a weight before it normalises.
    pub fn is_linear(&self) -> bool {
        self.linear
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
    pub fn activate<T: Number>(&self, from: usize, to: usize, out: &mut [T]) {
        let range = from * self.np..to * self.np;
        let (scale, shift) = (&self.scale, &self.shift);
        match &self.y {
            Stored::Nothing => {}
            Stored::Single(y) => vector::normalise(out, &y[range], scale, shift, self.relu),
            Stored::Bf16(y) => vector::normalise(out, &y[range], scale, shift, self.relu),
        }
    }

    /// The weight as the right operand of the backward product dy·W.
    pub fn backward_operand(&self) -> Right<'_> {
        Right::new(self.unit, &self.weight[..], self.kp)
    }

    /// The transposed weight as the right operand of the forward product.
    pub fn forward_operand(&self) -> Right<'static> {
        Right::new(self.unit, self.transposed(), self.np)
    }

    /// The transposed weight, `[k, np]`; empty if there is none.
    fn transposed(&self) -> Vec<f32> {
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
    Input { x: &'a [f32], k: usize, unit: Bf16Unit },
    Layer(&'a Layer),
}

/// Buffers of one thread for blocks of rows.
#[derive(Default)]
pub struct Scratch {
    single: Vec<f32>,
    rounded: Vec<u16>,
}

impl Source<'_> {
    /// As `block`, as an operand of a product.
    pub fn operand<'b>(&'b self, from: usize, to: usize, scratch: &'b mut Scratch) -> Block<'b> {
        let Scratch { single, rounded } = scratch;
        match *self {
            Source::Layer(l) if l.unit != Bf16Unit::Off => {
                rounded.resize((to - from) * l.np, 0);
                l.activate(from, to, rounded);
                Block::Bf16(rounded)
            }
            Source::Input { x, k, unit } => Block::new(unit, input_block(x, k, from, to, single), rounded),
            Source::Layer(_) => Block::Single(self.block(from, to, single)),
        }
    }

    /// Returns rows `from..to` as a dense matrix with padded rows. The rows are written to `scratch` unless they can be
    /// read in place.
    pub fn block<'b>(&'b self, from: usize, to: usize, scratch: &'b mut Vec<f32>) -> &'b [f32] {
        match *self {
            Source::Input {
                x,
                k,
                unit: Bf16Unit::Off,
            } => input_block(x, k, from, to, scratch),
            Source::Input { x, k, .. } => {
                copy_padded(x, k, from, to, scratch);
                vector::round_to_bf16(scratch);
                scratch
            }
            Source::Layer(l) => {
                scratch.resize((to - from) * l.np, 0.0);
                l.activate(from, to, scratch);
                round(l.unit, scratch);
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
    if k == padded(k) {
        return &x[from * k..to * k];
    }
    copy_padded(x, k, from, to, scratch);
    scratch
}

/// Copies rows `from..to`, as [`input_block`], to `scratch`.
pub fn copy_padded(x: &[f32], k: usize, from: usize, to: usize, scratch: &mut Vec<f32>) {
    let kp = padded(k);
    scratch.clear();
    scratch.resize((to - from) * kp, 0.0);
    let rows = x[from * k..to * k].chunks_exact(k);
    for (to, row) in scratch.chunks_exact_mut(kp).zip(rows) {
        to[..k].copy_from_slice(row);
    }
}
