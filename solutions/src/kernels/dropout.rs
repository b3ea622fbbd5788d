//! Dropout by a counter-based generator: the mask is a function of (seed, step, layer, element) alone.

use candle_core::{Result, Tensor};
use canopy_data::Philox;

use super::values::{Values, fused};
use super::{Operator, Pass, plain};

/// Drops each value with probability `p` and scales the rest by 1/(1−p) (Srivastava et al. 2014).
/// The mask is Philox's at (seed, step, layer, element): the same on every device.
///
/// # Errors
/// candle's.
pub fn dropout(x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
    if !pass.train || p <= 0.0 {
        return Ok(x.clone());
    }
    pass.operate(Operator::Dropout, [x], |[x]| dropped(&x, p, layer, pass))
}

fn dropped(x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
    if !fused(pass, &[x]) {
        return plain::dropout(x, p, layer, pass);
    }
    let mask = mask(x.elem_count(), p, layer, pass);
    let xc = x.contiguous()?;
    let y = Values::of(&xc)?.iter().zip(&mask).map(|(x, m)| x * m).collect();
    pass.record(&[x], y, x.dims(), || {
        Box::new(move |mut g, _| {
            g.iter_mut().zip(&mask).for_each(|(g, m)| *g *= m);
            Ok(vec![Some(g)])
        })
    })
}

/// 0 or 1/(1−p) for each of `n` elements.
pub(super) fn mask(n: usize, p: f32, layer: u64, pass: &Pass) -> Vec<f32> {
    let scale = 1.0 / (1.0 - p);
    let stream = pass.step << 16 | layer;
    let mut mask = Vec::with_capacity(n + 3);
    for block in 0..n.div_ceil(4) as u64 {
        mask.extend(Philox::at(pass.seed, stream, block).map(|bits| {
            if (bits >> 8) as f32 * (1.0 / 16_777_216.0) < p {
                0.0
            } else {
                scale
            }
        }));
    }
    mask.truncate(n);
    mask
}
