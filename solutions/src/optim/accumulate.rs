//! Gradient accumulation: the gradient of a large batch, computed from micro-batches that fit into memory.

use candle_core::{Result, Tensor, bail};

/// The gradients of the mean loss over a large batch that is processed in micro-batches: Σᵢ weightᵢ·gᵢ / Σᵢ weightᵢ.
///
/// The weight of a micro-batch is its number of records or, if the records have weights in the loss, the sum of these
/// weights. `gradients(i)` returns the gradients of micro-batch i's own mean loss, one for each parameter. It is called
/// once for each micro-batch, in order, so only one set of gradients is in memory besides the sum. If there is a single
/// micro-batch, its gradients are returned unchanged.
///
/// # Errors
/// Returns an error if there is no micro-batch, if the weights do not add up to more than 0, if the number of gradients
/// differs between micro-batches, or if `gradients` fails.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        bail!("accumulation: the weights {weights:?} of the micro-batches must add up to more than 0");
    }
    if weights.len() == 1 {
        return gradients(0);
    }
    let mut sum: Vec<Tensor> = Vec::new();
    for (i, weight) in weights.iter().enumerate() {
        let grads = gradients(i)?;
        if i > 0 && grads.len() != sum.len() {
            bail!(
                "accumulation: micro-batch {i} has {} gradients, but those before it have {} each",
                grads.len(),
                sum.len()
            );
        }
        for (k, grad) in grads.iter().enumerate() {
            let share = (grad.detach() * (weight / total))?;
            match sum.get_mut(k) {
                Some(sum) => *sum = (&*sum + share)?,
                None => sum.push(share),
            }
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn bad_weights_and_unequal_gradients_are_errors() {
        let one = |_| Tensor::new(&[1.0f32], &Device::Cpu).map(|g| vec![g]);
        for weights in [&[][..], &[0.0, 0.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(accumulated(weights, &mut { one }).is_err(), "{weights:?}");
        }
        let more = |i: usize| Ok(vec![Tensor::new(&[1.0f32], &Device::Cpu)?; i + 1]);
        assert!(accumulated(&[1.0, 1.0], &mut { more }).is_err());
    }
}
