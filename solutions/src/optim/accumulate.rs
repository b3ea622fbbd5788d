//! The gradient of a large batch, from small ones that fit into memory.

use candle_core::{Result, Tensor, bail};

/// The gradients of the mean loss over a large batch that is seen in micro-batches. `weights` says how much each counts:
/// its number of records, or the sum of their weights. `gradients(i)` gives those of micro-batch i's own mean loss, one
/// for each parameter; it is called once for each, in order, and only one set is held beside the sum.
///
/// Micro-batches of one weight count alike; a smaller last one counts less: Σᵢ weightᵢ·gᵢ / Σᵢ weightᵢ. A single one's
/// gradients come back as they are.
///
/// # Errors
/// No micro-batch, or weights that add up to nothing; sets of gradients that differ in number; those of `gradients`.
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
                "accumulation: micro-batch {i} has {} gradients, those before it {}",
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
    fn a_smaller_last_batch_counts_less() {
        let of = |i: usize| Tensor::new(&[[1.0f32, 4.0][i], 2.0], &Device::Cpu).map(|g| vec![g]);
        let sum = accumulated(&[4.0, 2.0], &mut |i| of(i)).unwrap();
        assert_eq!(sum[0].to_vec1::<f32>().unwrap(), [2.0, 2.0]);
    }

    #[test]
    fn what_cannot_be_added_up_is_refused() {
        let one = |_| Tensor::new(&[1.0f32], &Device::Cpu).map(|g| vec![g]);
        for weights in [&[][..], &[0.0, 0.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(accumulated(weights, &mut { one }).is_err(), "{weights:?}");
        }
        let more = |i: usize| Ok(vec![Tensor::new(&[1.0f32], &Device::Cpu)?; i + 1]);
        assert!(accumulated(&[1.0, 1.0], &mut { more }).is_err());
    }
}
