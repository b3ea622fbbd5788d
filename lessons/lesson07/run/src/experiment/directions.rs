//! Random directions in which the experiment looks at the loss.

use candle_core::{Result, Tensor, Var};
use canopy_data::Purpose;

/// A tensor of standard normal numbers for each of `params`. The same `seed` gives the same numbers.
pub fn random_directions(params: &[Var], seed: u64) -> Result<Vec<Tensor>> {
    let of = |(stream, param): (usize, &Var)| {
        let mut random = Purpose::Direction.stream(seed, stream as u64);
        let numbers: Vec<f32> = (0..param.elem_count()).map(|_| random.normal() as f32).collect();
        Tensor::from_vec(numbers, param.shape(), param.device())?.to_dtype(param.dtype())
    };
    params.iter().enumerate().map(of).collect()
}
