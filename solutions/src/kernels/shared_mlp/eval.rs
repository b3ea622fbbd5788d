//! Inference: each block of rows passes through all layers while it is in the cache, and nothing between the layers is
//! stored. Batch norm is a scale and a shift.

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::greatest::greatest;
use super::layer::{BLOCK, Layer, crop};
use crate::kernels::matrix::Matrix;
use crate::kernels::tile::Product;
use crate::kernels::vector;

/// Rows of one thread, and their products with the next layer's weight.
type Buffers = [Vec<f32>; 2];

/// The output of the layers over the padded rows x.
pub fn forward(
    x: &[f32],
    rows: usize,
    layers: &[Layer],
    clouds: Option<&[Range<usize>]>,
) -> Result<Vec<f32>> {
    let (before, widest) = layers.split_at(layers.len() - usize::from(clouds.is_some()));
    let weights = before
        .iter()
        .map(Layer::forward_operand)
        .collect::<Result<Vec<_>>>()?;
    // Writes the rows behind the layers before the maximum.
    let through = |from: usize, to: usize, [a, b]: &mut Buffers, out: &mut [f32]| {
        let kp = layers[0].kp;
        a.clear();
        a.extend_from_slice(&x[from * kp..to * kp]);
        for (layer, weight) in before.iter().zip(&weights) {
            b.resize((to - from) * layer.np, 0.0);
            let sizes = [to - from, layer.k, layer.np];
            Product::new(sizes, Matrix::dense(a, layer.kp), weight, b).run();
            a.resize(b.len(), 0.0);
            vector::normalise(a, b, &layer.scale, &layer.shift, layer.relu);
        }
        out.copy_from_slice(a);
    };
    let (Some(clouds), [last]) = (clouds, widest) else {
        let last = &before[before.len() - 1];
        let mut output = vec![0.0; rows * last.np];
        let blocks = output.par_chunks_mut(BLOCK * last.np).enumerate();
        blocks.for_each_init(Buffers::default, |buffers, (b, output)| {
            through(b * BLOCK, b * BLOCK + output.len() / last.np, buffers, output);
        });
        return Ok(crop(output, last.np, last.n));
    };
    let (mut output, _) = greatest(through, clouds, last)?;
    for row in output.chunks_exact_mut(last.n) {
        for (c, v) in row.iter_mut().enumerate() {
            let y = *v * last.scale[c] + last.shift[c];
            *v = if last.relu && y < 0.0 { 0.0 } else { y };
        }
    }
    Ok(output)
}
