use anyhow::{Result, ensure};
use candle_core::{DType, Tensor};

use crate::kernels::multi_tensor;

/// Added to the norm, as in PyTorch.
const EPS: f64 = 1e-6;

/// Scales all gradients by min(1, max_norm/(‖g‖ + 1e-6)), where ‖g‖ is the 2-norm of all gradients together (Pascanu et
/// al. 2013). Returns ‖g‖ as a scalar tensor: f64 if the gradients are f64, otherwise f32.
///
/// On a GPU the factor is applied even if it is 1, and the norm is not read back, so the host does not wait.
///
/// # Errors
/// Returns an error if `max_norm` is not above 0 or if there are no gradients.
pub fn clip_grad_norm(grads: &mut [Tensor], max_norm: f64) -> Result<Tensor> {
    ensure!(
        max_norm > 0.0,
        "clip: the maximum norm must be above 0; it is {max_norm}"
    );
    ensure!(!grads.is_empty(), "clip: there are no gradients");
    if grads.iter().all(multi_tensor::on_cpu) {
        return on_cpu(grads, max_norm);
    }
    if let Some((clipped, norm)) = multi_tensor::unscaled_and_clipped(grads, 1.0, max_norm)? {
        grads.clone_from_slice(&clipped);
        return Ok(norm.value()?);
    }
    plain(grads, max_norm)
}

/// Scales gradients of which all together have the 2-norm `norm` as [`clip_grad_norm`] does: `grads` may be a part of them.
///
/// # Errors
/// Returns an error if candle fails.
pub fn clip_by_norm(grads: &mut [Tensor], norm: f64, max_norm: f64) -> Result<()> {
    let factor = max_norm / (norm + EPS);
    // If the norm is NaN, the gradients become NaN as well, as in PyTorch.
    if factor < 1.0 || factor.is_nan() {
        for grad in grads.iter_mut() {
            *grad = (grad.detach() * factor)?;
        }
    }
    Ok(())
}

/// Returns the sum of the squares of all numbers of `grads`. Waits for the device.
///
/// # Errors
/// Returns an error if candle fails.
pub fn sum_of_squares(grads: &[Tensor]) -> candle_core::Result<f64> {
    if grads.iter().all(multi_tensor::on_cpu) {
        let all: Vec<&Tensor> = grads.iter().collect();
        return multi_tensor::sum_of_squares(&all);
    }
    let mut sum = 0.0;
    for grad in grads {
        let squares = grad.detach().to_dtype(DType::F64)?.sqr()?;
        sum += squares.sum_all()?.to_scalar::<f64>()?;
    }
    Ok(sum)
}

fn plain(grads: &mut [Tensor], max_norm: f64) -> Result<Tensor> {
    // Squares of half-precision gradients would overflow.
    let wide = match grads[0].dtype() {
        DType::F64 => DType::F64,
        _ => DType::F32,
    };
    let squares = grads
        .iter()
        .map(|g| g.detach().to_dtype(wide)?.sqr()?.sum_all())
        .collect::<candle_core::Result<Vec<_>>>()?;
    let norm = Tensor::stack(&squares, 0)?.sum_all()?.sqrt()?;
    let factor = ((&norm + EPS)?.recip()? * max_norm)?.minimum(1.0)?;
    for grad in grads.iter_mut() {
        *grad = grad.detach().broadcast_mul(&factor.to_dtype(grad.dtype())?)?;
    }
    Ok(norm)
}

fn on_cpu(grads: &mut [Tensor], max_norm: f64) -> Result<Tensor> {
    let all: Vec<&Tensor> = grads.iter().collect();
    let norm = multi_tensor::global_norm(&all)?;
    let factor = (max_norm / (norm + EPS)) as f32;
    // If the norm is NaN, the gradients become NaN as well, as in PyTorch.
    if factor < 1.0 || factor.is_nan() {
        let scaled = multi_tensor::scaled(&all, factor)?;
        grads.clone_from_slice(&scaled);
    }
    Ok(Tensor::new(norm as f32, grads[0].device())?)
}
