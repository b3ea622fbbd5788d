use anyhow::{Result, ensure};
use candle_core::{DType, Tensor};

/// Scales all gradients by min(1, max_norm/(‖g‖ + 1e-6)), ‖g‖ being the 2-norm over all of them together
/// (Pascanu et al. 2013), and gives ‖g‖ as a tensor of one number, f64 of f64 gradients, else f32.
///
/// The factor is applied even where it is 1, and the norm is not read back: so nothing waits for the device.
///
/// # Errors
/// A `max_norm` that is not above 0; candle's.
pub fn clip_grad_norm(grads: &mut [Tensor], max_norm: f64) -> Result<Tensor> {
    ensure!(
        max_norm > 0.0,
        "clip: the greatest norm must be above 0; it is {max_norm}"
    );
    // Squares of half-precision gradients leave their range.
    let wide = match grads.first().map(Tensor::dtype) {
        Some(DType::F64) => DType::F64,
        _ => DType::F32,
    };
    let squares = grads
        .iter()
        .map(|g| g.detach().to_dtype(wide)?.sqr()?.sum_all())
        .collect::<candle_core::Result<Vec<_>>>()?;
    ensure!(!squares.is_empty(), "clip: there are no gradients");
    let norm = Tensor::stack(&squares, 0)?.sum_all()?.sqrt()?;
    let factor = ((&norm + 1e-6)?.recip()? * max_norm)?.minimum(1.0)?;
    for grad in grads.iter_mut() {
        *grad = grad.detach().broadcast_mul(&factor.to_dtype(grad.dtype())?)?;
    }
    Ok(norm)
}
