//! The loss at the end of the last stage.

use anyhow::{Result, ensure};
use candle_core::{Device, Tensor};

/// Returns the sum of the cross-entropies of `logits`, `[clouds, classes]`, divided by `total`, and its gradient.
///
/// # Errors
/// Returns an error if a label is not a class.
pub fn cross_entropy_and_gradient(logits: &Tensor, labels: &[u32], total: usize) -> Result<(f64, Tensor)> {
    let (clouds, classes) = logits.dims2()?;
    let mut gradient = logits.flatten_all()?.to_vec1::<f32>()?;
    let mut loss = 0.0;
    for (row, &label) in gradient.chunks_mut(classes).zip(labels) {
        let label = label as usize;
        ensure!(label < classes, "label {label}: there are only {classes} classes");
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|v| f64::from(v - largest).exp()).sum();
        loss += sum.ln() - f64::from(row[label] - largest);
        for (i, value) in row.iter_mut().enumerate() {
            let probability = f64::from(*value - largest).exp() / sum;
            *value = ((probability - f64::from(u8::from(i == label))) / total as f64) as f32;
        }
    }
    let gradient = Tensor::from_vec(gradient, (clouds, classes), &Device::Cpu)?;
    Ok((loss / total as f64, gradient))
}
