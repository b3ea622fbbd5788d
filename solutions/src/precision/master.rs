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
