//! What the optimizers share: one moment per parameter, its name, and loading it back.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor, Var};

pub(super) type Params = Vec<(String, Var)>;

/// One variable like each parameter, at zero.
pub(super) fn zeros_like<'a>(params: impl Iterator<Item = &'a Var>) -> Result<Vec<Var>> {
    params
        .map(|p| Ok(Var::zeros(p.shape(), p.dtype(), p.device())?))
        .collect()
}

/// The variables without their names.
pub(super) fn vars(params: &Params) -> impl Iterator<Item = &Var> + Clone {
    params.iter().map(|(_, var)| var)
}

pub(super) fn check_grads(params: &Params, grads: &[Tensor]) -> Result<()> {
    ensure!(
        params.len() == grads.len(),
        "optimizer: expected {} gradients, one for each parameter in its order, got {}",
        params.len(),
        grads.len()
    );
    for ((name, param), grad) in params.iter().zip(grads) {
        ensure!(
            param.dims() == grad.dims() && param.dtype() == grad.dtype(),
            "gradient of {name}: expected shape {:?} of {:?}, got {:?} of {:?}",
            param.dims(),
            param.dtype(),
            grad.dims(),
            grad.dtype()
        );
    }
    Ok(())
}

/// The moments of one kind, named `KIND.PARAMETER`.
pub(super) struct Moments<'a> {
    pub kind: &'static str,
    pub vars: &'a [Var],
}

/// Copies of the moments, and the step count.
pub(super) fn collect(step: u64, params: &Params, moments: &[Moments]) -> Result<Vec<(String, Tensor)>> {
    let mut state = vec![("step".to_owned(), Tensor::new(step as i64, &Device::Cpu)?)];
    for moment in moments {
        for ((name, _), var) in params.iter().zip(moment.vars) {
            let copy = var.as_detached_tensor().copy()?;
            state.push((format!("{}.{name}", moment.kind), copy));
        }
    }
    Ok(state)
}

/// Sets the moments, all or none, and gives the step count.
pub(super) fn restore(state: &HashMap<String, Tensor>, params: &Params, moments: &[Moments]) -> Result<u64> {
    let expected = 1 + moments.len() * params.len();
    let step = scalar(state, "step")?;
    let mut values = Vec::with_capacity(expected);
    for moment in moments {
        for ((name, _), var) in params.iter().zip(moment.vars) {
            let name = format!("{}.{name}", moment.kind);
            values.push((fetch(state, &name, var)?, var));
        }
    }
    ensure!(
        state.len() == expected,
        "optimizer state: expected {expected} tensors, got {}: it is another optimizer's or another model's",
        state.len()
    );
    for (value, var) in values {
        var.set(&value)?;
    }
    Ok(step)
}

fn fetch(state: &HashMap<String, Tensor>, name: &str, like: &Var) -> Result<Tensor> {
    let tensor = state.get(name).with_context(|| {
        format!("optimizer state: tensor {name} is missing: it is another optimizer's or another model's")
    })?;
    ensure!(
        tensor.dims() == like.dims() && tensor.dtype() == like.dtype(),
        "optimizer state: tensor {name}: expected shape {:?} of {:?}, got {:?} of {:?}",
        like.dims(),
        like.dtype(),
        tensor.dims(),
        tensor.dtype()
    );
    Ok(tensor.to_device(like.device())?)
}

/// The whole number of that name.
pub(super) fn scalar(state: &HashMap<String, Tensor>, name: &str) -> Result<u64> {
    let tensor = state
        .get(name)
        .with_context(|| format!("optimizer state: tensor {name} is missing"))?;
    ensure!(
        tensor.rank() == 0 && tensor.dtype() == DType::I64,
        "optimizer state: tensor {name}: expected one number of I64, got {:?} of {:?}",
        tensor.dims(),
        tensor.dtype()
    );
    u64::try_from(tensor.to_scalar::<i64>()?).context("optimizer state: step is negative")
}
