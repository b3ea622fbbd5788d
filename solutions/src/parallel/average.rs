use anyhow::Result;
use candle_core::{DType, Device, Tensor};

use super::{Collective, mean_over_ranks};

/// Replaces each gradient by its mean over all ranks. The means are bit-identical on every rank, so ranks with equal
/// parameters still have equal parameters after an optimizer step.
///
/// All gradients are concatenated in f32 and sent in a single all-reduce, because one long message has less latency than
/// many short ones.
///
/// # Errors
/// Returns an error if the all-reduce fails or candle does.
pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    let mut flat: Vec<f32> = Vec::with_capacity(gradients.iter().map(Tensor::elem_count).sum());
    for gradient in gradients.iter() {
        flat.extend(gradient.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    let flat = mean_over_ranks(collective, flat)?;
    let mut rest = &flat[..];
    for gradient in gradients.iter_mut() {
        let (own, after) = rest.split_at(gradient.elem_count());
        let mean = Tensor::from_slice(own, gradient.shape(), &Device::Cpu)?;
        *gradient = mean.to_dtype(gradient.dtype())?.to_device(gradient.device())?;
        rest = after;
    }
    Ok(())
}
