//! Cross-entropy, and the sum of a loss and its penalties.

use candle_core::{DType, Result, Tensor};

use super::launch::{Grid, Kernels, args, plain};
use super::target::Target;

impl Target {
    /// As [`crate::kernels::cross_entropy`], of which the caller has checked the shapes. A label that is not a class makes
    /// the loss NaN, because a check on the host would wait for the device.
    pub fn cross_entropy(
        &self,
        logits: &Tensor,
        labels: &Tensor,
        smoothing: f64,
        weights: Option<&Tensor>,
    ) -> Result<Tensor> {
        let (rows, classes) = logits.dims2()?;
        let (x, labels) = (plain(logits)?, plain(&labels.to_dtype(DType::U32)?)?);
        let weights = weights.map(|w| plain(&w.to_dtype(DType::F32)?)).transpose()?;
        let loss = self.kernels.output(&[], DType::F32)?;
        let gradient = self.kernels.output_like(&x)?;
        let (weights, smoothing) = (weights.as_ref(), smoothing as f32);
        let arguments = args![&x, &labels, weights, smoothing, &loss, &gradient, rows, classes];
        // One block: a warp a row.
        let grid = Grid::of(1, (32 * rows as u32).clamp(128, 1024));
        self.kernels
            .launch_for(x.dtype(), "loss.cu", "cross_entropy", grid, &arguments)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[logits], loss, || {
            Box::new(move |g, _| Ok(vec![Some(scaled(&kernels, &gradient, g)?)]))
        }))
    }

    /// As [`crate::kernels::weighted_sum`]: candle's operators, over scalars on the device.
    pub fn weighted_sum(&self, terms: &[(&Tensor, f64)]) -> Result<Tensor> {
        let products = terms.iter().map(|&(term, factor)| term.detach() * factor);
        let Some(sum) = products.reduce(|sum, term| sum? + term?) else {
            candle_core::bail!("weighted_sum: expected at least one term");
        };
        let tensors: Vec<&Tensor> = terms.iter().map(|&(term, _)| term).collect();
        let factors: Vec<f64> = terms.iter().map(|&(_, factor)| factor).collect();
        Ok(self.record(&tensors, sum?, || {
            Box::new(move |g, _| factors.iter().map(|&f| Ok(Some((g * f)?))).collect())
        }))
    }

    /// As [`crate::kernels::loss_by_candle`]: `value` is the loss, `gradient` that of the outputs.
    pub fn loss(&self, outputs: &Tensor, value: Tensor, gradient: Tensor) -> Tensor {
        let kernels = self.kernels.clone();
        self.record(&[outputs], value, || {
            Box::new(move |g, _| Ok(vec![Some(scaled(&kernels, &gradient, g)?)]))
        })
    }
}

/// `x` times a scalar on the device.
fn scaled(kernels: &Kernels, x: &Tensor, factor: &Tensor) -> Result<Tensor> {
    let y = kernels.output_like(x)?;
    let arguments = args![x, &y, factor, x.elem_count() as i64];
    let grid = Grid::over(x.elem_count());
    kernels.launch_for(x.dtype(), "operators.cu", "scaled", grid, &arguments)?;
    Ok(y)
}
