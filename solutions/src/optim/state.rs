//! What the optimizers share: named parameters, and saving and loading their state.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor, Var};

use super::optimizer::Optimizer;

/// The parameters of an optimizer. Its gradients come in the same order.
pub(super) struct Params {
    pub names: Vec<String>,
    pub vars: Vec<Var>,
}

impl From<Vec<(String, Var)>> for Params {
    fn from(named: Vec<(String, Var)>) -> Self {
        let (names, vars) = named.into_iter().unzip();
        Self { names, vars }
    }
}

impl Params {
    /// Checks that there is one gradient of the same shape and dtype for each parameter.
    pub fn check(&self, grads: &[Tensor]) -> Result<()> {
        ensure!(
            self.vars.len() == grads.len(),
            "optimizer: expected {} gradients, one for each parameter in its order, got {}",
            self.vars.len(),
            grads.len()
        );
        for ((name, param), grad) in self.names.iter().zip(&self.vars).zip(grads) {
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
}

/// A variable of zeros for each parameter, with the same shape, dtype and device.
pub(super) fn zeros_like<'a>(params: impl IntoIterator<Item = &'a Var>) -> Result<Vec<Var>> {
    params
        .into_iter()
        .map(|p| Ok(Var::zeros(p.shape(), p.dtype(), p.device())?))
        .collect()
}

/// One kind of state: a variable for each parameter, saved under the name `KIND.PARAMETER`.
pub(super) type Moments<'a> = (&'static str, &'a [Var]);

/// How an optimizer changes its parameters, and which state it keeps from one step to the next.
pub(super) trait Rule: Send {
    /// Takes one step. The gradients have been checked against the parameters.
    fn apply(&mut self, params: &[Var], grads: &[Tensor], lr: f64) -> candle_core::Result<()>;

    /// The state of all parameters.
    fn moments(&self) -> Vec<Moments<'_>>;

    /// Called after a saved state has been loaded. `steps` is the number of steps that it had taken.
    fn resume_at(&mut self, _steps: u64) {}
}

/// An optimizer that follows a [`Rule`].
pub(super) struct Ruled<R> {
    params: Params,
    steps: u64,
    rule: R,
}

impl<R: Rule> Ruled<R> {
    pub fn new(params: Params, rule: R) -> Self {
        Self {
            params,
            steps: 0,
            rule,
        }
    }
}

impl<R: Rule> Optimizer for Ruled<R> {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        self.params.check(grads)?;
        self.rule.apply(&self.params.vars, grads, lr)?;
        self.steps += 1;
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let step = Tensor::new(self.steps as i64, &Device::Cpu)?;
        let mut state = vec![("step".to_owned(), step)];
        for (kind, vars) in self.rule.moments() {
            for (name, var) in self.params.names.iter().zip(vars) {
                state.push((format!("{kind}.{name}"), var.as_detached_tensor().copy()?));
            }
        }
        Ok(state)
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        let step = scalar(state, "step")?;
        // All tensors are checked before the first is set.
        let mut loaded = Vec::new();
        for (kind, vars) in self.rule.moments() {
            for (name, var) in self.params.names.iter().zip(vars) {
                loaded.push((fetch(state, &format!("{kind}.{name}"), var)?, var));
            }
        }
        ensure!(
            state.len() == 1 + loaded.len(),
            "optimizer state: expected {} tensors, got {}: it belongs to another optimizer or another model",
            1 + loaded.len(),
            state.len()
        );
        for (value, var) in loaded {
            var.set(&value)?;
        }
        self.steps = step;
        self.rule.resume_at(step);
        Ok(())
    }
}

fn fetch(state: &HashMap<String, Tensor>, name: &str, like: &Var) -> Result<Tensor> {
    let tensor = state.get(name).with_context(|| {
        format!(
            "optimizer state: tensor {name} is missing: the state belongs to another optimizer or another model"
        )
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

/// The scalar `name` of the state, as an integer that is not negative.
pub(super) fn scalar(state: &HashMap<String, Tensor>, name: &str) -> Result<u64> {
    let tensor = state
        .get(name)
        .with_context(|| format!("optimizer state: tensor {name} is missing"))?;
    ensure!(
        tensor.rank() == 0 && tensor.dtype() == DType::I64,
        "optimizer state: tensor {name}: expected a scalar of I64, got shape {:?} of {:?}",
        tensor.dims(),
        tensor.dtype()
    );
    u64::try_from(tensor.to_scalar::<i64>()?).with_context(|| format!("optimizer state: {name} is negative"))
}
