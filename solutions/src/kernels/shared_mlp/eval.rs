//! Inference: each block of rows passes through all layers while it is in the cache, and nothing between the layers is
//! stored. Batch norm is a scale and a shift.

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::greatest::greatest;
use super::layer::{BLOCK, Layer, crop};
use crate::kernels::operand::{self, Operand};
use crate::kernels::vector;

/// Buffers of one thread.
#[derive(Default)]
struct Buffers<T> {
    rows: Vec<f32>,
    /// Their products with the next layer's weight.
    products: Vec<f32>,
    numbers: Vec<T>,
}

/// The output of the layers over the padded rows x. In bf16, weights, inputs and products are rounded as in training.
pub fn forward<T: Operand>(
    x: &[f32],
    rows: usize,
    layers: &[Layer<T>],
    clouds: Option<&[Range<usize>]>,
) -> Result<Vec<f32>> {
    let (before, widest) = layers.split_at(layers.len() - usize::from(clouds.is_some()));
    let weights = before
        .iter()
        .map(Layer::forward_operand)
        .collect::<Result<Vec<_>>>()?;
    // Writes the rows behind the layers before the maximum.
    let through = |from: usize, to: usize, buffers: &mut Buffers<T>, out: &mut [f32]| {
        let Buffers {
            rows: a,
            products: b,
            numbers,
        } = buffers;
        let kp = layers[0].kp;
        a.clear();
        a.extend_from_slice(&x[from * kp..to * kp]);
        for (layer, weight) in before.iter().zip(&weights) {
            b.resize((to - from) * layer.np, 0.0);
            let sizes = [to - from, layer.k, layer.np];
            operand::multiply(layer.unit, sizes, T::of(a, numbers), weight, b, false);
            T::round(b);
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
    let rounded = |from: usize, to: usize, buffers: &mut Buffers<T>, out: &mut [f32]| {
        through(from, to, buffers, out);
        T::round(out);
    };
    let (mut output, _) = greatest(rounded, clouds, last)?;
    T::round(&mut output);
    for row in output.chunks_exact_mut(last.n) {
        for (c, v) in row.iter_mut().enumerate() {
            let y = *v * last.scale[c] + last.shift[c];
            *v = if last.relu && y < 0.0 { 0.0 } else { y };
        }
    }
    Ok(output)
}
