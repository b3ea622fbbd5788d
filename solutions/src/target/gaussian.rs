//! The Gaussian head's loss.

use candle_core::{Result, Tensor, bail};

use super::HALF_LN_TAU;

/// The mean negative log-likelihood of `target` `[n]` under normal distributions with means `mean` `[n]` and standard
/// deviations exp(`log_std`) `[n]`: the mean of ½ ln 2π + log σ + ½((y − μ)/σ)², a scalar with its graph.
///
/// # Errors
/// Returns an error if the shapes differ, or if there are no rows.
pub fn gaussian_nll(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    let n = mean.dims1()?;
    if n == 0 || log_std.dims() != [n] || target.dims() != [n] {
        bail!(
            "gaussian_nll: expected mean, log_std and target [n] with n at least 1, got [{n}], {:?} and {:?}",
            log_std.dims(),
            target.dims()
        );
    }
    // One division by σ before squaring: σ² underflows twice as early as σ. log σ is used as it is, because the
    // logarithm of a σ that underflowed is −∞.
    let z = ((target - mean)? * log_std.neg()?.exp()?)?;
    ((log_std + (z.sqr()? * 0.5)?)? + HALF_LN_TAU)?.mean_all()
}
