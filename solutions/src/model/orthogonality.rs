use candle_core::{Result, Tensor};

/// How far transforms `[clouds, k, k]` are from orthogonal: ‖I − A·Aᵀ‖²_F, the mean over the clouds
/// (Qi et al. 2017, equation 2). The paper adds 0.001 of it to the loss.
///
/// # Errors
/// candle's, where the matrices are not square.
pub fn orthogonality(transforms: &Tensor) -> Result<Tensor> {
    let (clouds, k, _) = transforms.dims3()?;
    let identity = Tensor::eye(k, transforms.dtype(), transforms.device())?;
    let product = transforms.matmul(&transforms.t()?)?;
    identity.unsqueeze(0)?.broadcast_sub(&product)?.sqr()?.sum_all()? / clouds as f64
}
