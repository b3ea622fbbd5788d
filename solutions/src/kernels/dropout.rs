//! Dropout by a counter-based generator: the mask is a function of (seed, step, layer, element) alone.

use candle_core::{Result, Tensor};
use canopy_data::{Philox, Purpose};

use super::device::Target;
use super::{Operator, Pass, with_backward};

/// Drops each value with probability `p` and scales the rest by 1/(1−p) (Srivastava et al. 2014).
/// The mask is a function of (seed, step, layer, element) by Philox: the same on every device, and a rank's share of the
/// rows has the mask that those rows have in the whole batch.
pub fn dropout(x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
    if !pass.train || p <= 0.0 {
        return Ok(x.clone());
    }
    pass.operate(Operator::Dropout, [x], |[x]| dropped(&x, p, layer, pass))
}

fn dropped(x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
    if let Some(device) = Target::of_pass(pass, x) {
        return device.dropout(x, p, layer, pass);
    }
    let mask = Tensor::from_vec(mask(x.dims(), p, layer, pass), x.shape(), x.device())?;
    let mask = mask.to_dtype(x.dtype())?;
    with_backward([x], pass, |[x]| x * &mask, {
        let mask = mask.clone();
        move |g| Ok([(g * &mask)?])
    })
}

/// 0 or 1/(1−p) for each element of a tensor of shape `dims`.
fn mask(dims: &[usize], p: f32, layer: u64, pass: &Pass) -> Vec<f32> {
    let (rank, world_size) = pass.share.as_ref().map_or((0, 1), |s| (s.rank, s.world_size));
    let (key, stream) = (Purpose::Dropout.key(pass.seed), pass.step << 16 | layer);
    let count: usize = dims.iter().product();
    let row = count / dims.first().copied().unwrap_or(1).max(1);
    let scale = 1.0 / (1.0 - p);
    let element = |i: usize| {
        // Its number in the whole batch, of which this rank has every `world_size`-th row.
        let number = (rank + i / row * world_size) * row + i % row;
        let bits = Philox::at(key, stream, number as u64 / 4)[number % 4];
        if (bits >> 8) as f32 * (1.0 / 16_777_216.0) < p {
            0.0
        } else {
            scale
        }
    };
    (0..count).map(element).collect()
}
