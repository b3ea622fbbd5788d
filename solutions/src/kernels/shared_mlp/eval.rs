//! Inference: each block of rows passes through all layers while it is in the cache, and nothing between the layers is
//! stored. Batch norm is a scale and a shift.

use std::ops::Range;

use rayon::prelude::*;

use super::greatest::greatest;
use super::layer::{BLOCK, Layer, copy_padded, input_block};
use super::tiles::{Blocks, Buffers};
use crate::kernels::Bf16Unit;
use crate::kernels::bf16::{self, Block, Right, round};
use crate::kernels::vector;

/// With a unit for bf16, weights, inputs and products are rounded as in training.
pub fn forward(
    x: &[f32],
    rows: usize,
    layers: &[Layer],
    clouds: Option<&[Range<usize>]>,
) -> (Vec<f32>, Vec<usize>) {
    let (before, last) = match clouds {
        None => (layers, &layers[layers.len() - 1]),
        Some(_) => (&layers[..layers.len() - 1], &layers[layers.len() - 1]),
    };
    let through = Through {
        x,
        k: layers[0].k,
        layers: before,
        weights: before.iter().map(Layer::forward_operand).collect(),
        rounded: clouds.map_or(Bf16Unit::Off, |_| last.unit),
    };
    let n = last.n;
    let Some(clouds) = clouds else {
        let mut output = vec![0.0; rows * n];
        output.par_chunks_mut(BLOCK * n).enumerate().for_each_init(
            Default::default,
            |buffers: &mut Buffers, (b, output)| {
                let a = through.block(b * BLOCK, b * BLOCK + output.len() / n, buffers);
                for (to, from) in output.chunks_exact_mut(n).zip(a.chunks_exact(last.np)) {
                    to.copy_from_slice(&from[..n]);
                }
            },
        );
        return (output, vec![rows, n]);
    };
    let (mut output, _) = greatest(&through, clouds, last);
    round(last.unit, &mut output);
    for row in output.chunks_exact_mut(n) {
        for (c, v) in row.iter_mut().enumerate() {
            let y = *v * last.scale[c] + last.shift[c];
            *v = if last.relu && y < 0.0 { 0.0 } else { y };
        }
    }
    (output, vec![clouds.len(), n])
}

/// The rows of x after all of `layers`, computed block by block when they are read.
struct Through<'a> {
    x: &'a [f32],
    k: usize,
    layers: &'a [Layer],
    /// The transposed weight of each layer.
    weights: Vec<Right<'static>>,
    /// If it is not off, the rows are rounded, as the operand of a product.
    rounded: Bf16Unit,
}

impl Blocks for Through<'_> {
    fn block<'b>(&'b self, from: usize, to: usize, buffers: &'b mut Buffers) -> &'b [f32] {
        let Buffers {
            rows: a,
            next: b,
            rounded,
        } = buffers;
        if self.layers.is_empty() {
            if self.rounded == Bf16Unit::Off {
                return input_block(self.x, self.k, from, to, a);
            }
            copy_padded(self.x, self.k, from, to, a);
        }
        for (i, (layer, weight)) in self.layers.iter().zip(&self.weights).enumerate() {
            b.resize((to - from) * layer.np, 0.0);
            let input = match (i, layer.unit) {
                (0, Bf16Unit::Off) => &self.x[from * self.k..to * self.k],
                (0, _) => input_block(self.x, self.k, from, to, a),
                _ => &a[..],
            };
            let operand = Block::new(layer.unit, input, rounded);
            bf16::multiply([to - from, layer.k, layer.np], operand, weight, b, false);
            round(layer.unit, b);
            vector::normalise_in_place(b, &layer.scale, &layer.shift, layer.relu);
            std::mem::swap(a, b);
        }
        round(self.rounded, a);
        a
    }
}
