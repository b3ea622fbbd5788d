//! The mixture density head's loss (Bishop 1994, "Mixture Density Networks").

use candle_core::{D, Result, Tensor, bail};
use candle_nn::ops::log_softmax;

use super::HALF_LN_TAU;

/// The mean negative log-likelihood of `target` `[n]` under mixtures of k normal distributions: weights
/// softmax(`logits`), means `mean`, standard deviations exp(`log_std`), all `[n, k]`. Returns a scalar with its graph.
///
/// Densities of all components may underflow together, so their logarithms are summed as
/// max + ln Σ exp(logarithm − max).
///
/// # Errors
/// Returns an error if the shapes do not match, or if there are no rows or no components.
pub fn mixture_nll(logits: &Tensor, mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    let (n, k) = logits.dims2()?;
    if n * k == 0 || mean.dims() != [n, k] || log_std.dims() != [n, k] || target.dims() != [n] {
        bail!(
            "mixture_nll: expected logits, mean and log_std [n, k] and target [n] with n and k at least 1, got {:?}, \
             {:?}, {:?} and {:?}",
            logits.dims(),
            mean.dims(),
            log_std.dims(),
            target.dims()
        );
    }
    let z = (target.unsqueeze(1)?.broadcast_sub(mean)? * log_std.neg()?.exp()?)?;
    let log_density = ((z.sqr()? * -0.5)? - log_std)?;
    let terms = (log_softmax(logits, D::Minus1)? + log_density)?;
    // A constant: the result does not depend on it, so neither does the gradient.
    let top = terms.detach().max_keepdim(1)?;
    let log_sum = terms.broadcast_sub(&top)?.exp()?.sum_keepdim(1)?.log()?;
    (HALF_LN_TAU - (log_sum + top)?)?.mean_all()
}
