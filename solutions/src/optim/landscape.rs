//! The loss around the current weights, along a random direction (Li et al. 2018, "Visualizing the Loss Landscape of
//! Neural Nets"): around a sharp minimum it rises steeply, around a flat one slowly.

use candle_core::{Result, Tensor, Var, bail};

/// The loss at w + αd for each α of `alphas`. w are the values of `params`, and d are the `directions`, normalised by
/// filter: each filter of d (a row of a weight matrix with all further axes) is scaled to the norm of the same filter
/// of w, so that networks with small and with large weights can be compared. A filter of d with norm 0 stays 0. Tensors
/// with at most one axis (biases, γ and β of batch norm) do not change.
///
/// `loss` returns the loss at the current values of `params`. Afterwards the parameters are bit-identical to their
/// values before the call, even if `loss` fails.
///
/// # Errors
/// Returns an error if the directions do not fit the parameters or if `loss` fails.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    if params.len() != directions.len() {
        bail!(
            "loss along a direction: {} parameters, but {} directions",
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

/// `direction` with each filter scaled to the norm of the same filter of `weight`; zeros if `weight` has at most one
/// axis.
fn filter_normalised(weight: &Tensor, direction: &Tensor) -> Result<Tensor> {
    if weight.rank() < 2 {
        return direction.zeros_like();
    }
    let norms = |t: &Tensor| t.flatten_from(1)?.sqr()?.sum_keepdim(1)?.sqrt();
    let (wanted, own) = (norms(weight)?, norms(direction)?);
    // Divide a filter with norm 0 by 1, not by 0.
    let own = (&own + own.eq(0.0)?.to_dtype(own.dtype())?)?;
    let flat = direction.flatten_from(1)?.broadcast_mul(&(wanted / own)?)?;
    flat.reshape(direction.shape())
}
