//! Master weights (Micikevicius et al. 2018, section 3.1): an update smaller than half a unit in the last place is lost in
//! a low-precision weight, but not in its fp32 copy.

use candle_core::{DType, Result, Tensor, Var};

/// A function with the signature of [`master_step`].
pub type MasterStep = fn(
    &[Var],
    &[Var],
    &[Tensor],
    &mut dyn FnMut(&[Tensor]) -> Result<()>,
    &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()>;

/// Takes an optimizer step on the fp32 `masters` of low-precision `weights`. `step` is called with the gradients in fp32 and
/// updates the masters. Then each weight is set to its master, rounded by `low`. `masters`, `weights` and `grads` are in
/// the same order.
///
/// # Errors
/// Returns an error if `step`, `low` or candle fails. The weights are unchanged if `step` fails.
pub fn master_step(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: &mut dyn FnMut(&[Tensor]) -> Result<()>,
    low: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    let wide: Vec<Tensor> = grads
        .iter()
        .map(|g| g.to_dtype(DType::F32))
        .collect::<Result<_>>()?;
    step(&wide)?;
    for (master, weight) in masters.iter().zip(weights) {
        weight.set(&low(&master.as_detached_tensor())?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn small_updates_accumulate_in_the_master() {
        let weight = Var::new(&[1f32], &Device::Cpu).unwrap();
        let weight = Var::from_tensor(&weight.to_dtype(DType::BF16).unwrap()).unwrap();
        let master = Var::new(&[1f32], &Device::Cpu).unwrap();
        let grad = Tensor::new(&[1f32], &Device::Cpu)
            .unwrap()
            .to_dtype(DType::BF16)
            .unwrap();
        let low = |t: &Tensor| t.to_dtype(DType::BF16);
        // The spacing of bf16 below 1 is 2^-8: one update of 2^-10 is lost in bf16, four of them are one unit.
        for done in 1..=4 {
            master_step(
                std::slice::from_ref(&master),
                std::slice::from_ref(&weight),
                std::slice::from_ref(&grad),
                &mut |g| master.set(&(master.as_detached_tensor() - (&g[0] * 2f64.powi(-10))?)?),
                &low,
            )
            .unwrap();
            let at = |v: &Var| v.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap()[0];
            assert_eq!(at(&master), 1.0 - done as f32 * 2f32.powi(-10));
            let expected = if done < 2 {
                1.0
            } else if done < 4 {
                at(&weight)
            } else {
                1.0 - 2f32.powi(-8)
            };
            assert_eq!(at(&weight), expected);
        }
    }
}
