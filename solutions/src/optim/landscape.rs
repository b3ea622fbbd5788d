//! The loss around where training stands, along a random direction (Li et al. 2018, "Visualizing the Loss Landscape of
//! Neural Nets"): a sharp minimum rises soon, a flat one late.

use candle_core::{Result, Tensor, Var, bail};
use canopy_data::Philox;

/// A direction for each of `params`, of normal numbers: the same for the same seed.
///
/// # Errors
/// candle's.
pub fn random_directions(params: &[Var], seed: u64) -> Result<Vec<Tensor>> {
    let of = |(stream, param): (usize, &Var)| {
        let mut random = Philox::new(seed, stream as u64);
        let numbers: Vec<f32> = (0..param.elem_count()).map(|_| random.normal() as f32).collect();
        Tensor::from_vec(numbers, param.shape(), param.device())?.to_dtype(param.dtype())
    };
    params.iter().enumerate().map(of).collect()
}

/// The loss at w + αd for each α of `alphas`, w being the values of `params` and d their `directions`, filter-normalised:
/// each filter of d (a row of a weight matrix, with all further axes) is stretched to the length of w's, so that networks
/// whose weights are small and large alike can be compared; biases and the scales of batch norm (one axis or none) stay.
/// A filter of d without length stays as it is.
///
/// Afterwards the parameters have the bits that they had before, also where `loss` fails.
///
/// # Errors
/// Directions that do not fit; those of `loss`.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    if params.len() != directions.len() {
        bail!(
            "landscape: {} parameters, {} directions",
            params.len(),
            directions.len()
        );
    }
    let start = params
        .iter()
        .map(|p| p.as_detached_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let pairs = start.iter().zip(directions);
    let ways = pairs
        .map(|(w, d)| filter_normalised(w, d))
        .collect::<Result<Vec<_>>>()?;
    let mut at = |alpha: f64| {
        for ((param, w), way) in params.iter().zip(&start).zip(&ways) {
            param.set(&(w + (way * alpha)?)?)?;
        }
        loss()
    };
    let losses = alphas.iter().map(|&alpha| at(alpha)).collect();
    for (param, w) in params.iter().zip(&start) {
        param.set(w)?;
    }
    losses
}

/// `direction` with each filter as long as that of `weight`; zeros for a weight without filters.
fn filter_normalised(weight: &Tensor, direction: &Tensor) -> Result<Tensor> {
    if weight.rank() < 2 {
        return direction.zeros_like();
    }
    let lengths = |t: &Tensor| t.flatten_from(1)?.sqr()?.sum_keepdim(1)?.sqrt();
    let (long, own) = (lengths(weight)?, lengths(direction)?);
    // A filter without length is divided by 1.
    let own = (&own + own.eq(0.0)?.to_dtype(own.dtype())?)?;
    let flat = direction.flatten_from(1)?.broadcast_mul(&(long / own)?)?;
    flat.reshape(direction.shape())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn directions_hang_on_the_seed_alone() {
        let params = [Var::zeros((40, 50), candle_core::DType::F32, &Device::Cpu).unwrap()];
        let of = |seed| {
            random_directions(&params, seed).unwrap()[0]
                .flatten_all()
                .unwrap()
                .to_vec1::<f32>()
                .unwrap()
        };
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        let square = of(3).iter().map(|x| x * x).sum::<f32>() / 2000.0;
        assert!((square - 1.0).abs() < 0.1, "{square}");
    }

    #[test]
    fn parameters_come_back_also_after_an_error() {
        let w = [0.1f32, -0.3, 0.7, 1e-20];
        let params = [Var::from_slice(&w, (2, 2), &Device::Cpu).unwrap()];
        let directions = random_directions(&params, 1).unwrap();
        let mut calls = 0;
        let result = loss_along(&params, &directions, &[0.5, 1.0], &mut || {
            calls += 1;
            if calls == 2 { bail!("no loss") } else { Ok(1.0) }
        });
        assert!(result.is_err());
        assert_eq!(params[0].flatten_all().unwrap().to_vec1::<f32>().unwrap(), w);
    }
}
