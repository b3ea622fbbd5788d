//! Inference: each block of rows passes through all layers while it is in the cache, and nothing between the layers is
//! stored. Batch norm is a scale and a shift.

use std::ops::Range;

use rayon::prelude::*;

use super::greatest::greatest;
use super::layer::{BLOCK, Layer, input_block};
use super::tiles::Blocks;
use crate::kernels::tile::{Left, Product};
use crate::kernels::vector;

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
        weights: before.iter().map(Layer::transposed).collect(),
    };
    let n = last.n;
    let Some(clouds) = clouds else {
        let mut output = vec![0.0; rows * n];
        output.par_chunks_mut(BLOCK * n).enumerate().for_each_init(
            Default::default,
            |scratch: &mut [Vec<f32>; 2], (b, output)| {
                let a = through.block(b * BLOCK, b * BLOCK + output.len() / n, scratch);
                for (to, from) in output.chunks_exact_mut(n).zip(a.chunks_exact(last.np)) {
                    to.copy_from_slice(&from[..n]);
                }
            },
        );
        return (output, vec![rows, n]);
    };
    let (mut output, _) = greatest(&through, clouds, last);
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
    weights: Vec<Vec<f32>>,
}

impl Blocks for Through<'_> {
    fn block<'b>(&'b self, from: usize, to: usize, scratch: &'b mut [Vec<f32>; 2]) -> &'b [f32] {
        let [a, b] = scratch;
        if self.layers.is_empty() {
            return input_block(self.x, self.k, from, to, a);
        }
        let rows = to - from;
        for (i, (layer, weight)) in self.layers.iter().zip(&self.weights).enumerate() {
            b.resize(rows * layer.np, 0.0);
            let from_x = &self.x[from * self.k..to * self.k];
            Product::new(
                [rows, layer.k, layer.np],
                if i == 0 {
                    Left::dense(from_x, self.k)
                } else {
                    Left::dense(a, layer.kp)
                },
                weight,
                b,
            )
            .run();
            vector::normalise_in_place(b, &layer.scale, &layer.shift, layer.relu);
            std::mem::swap(a, b);
        }
        a
    }
}
