//! Optimizers over master weights: the model's weights are kept in a low-precision format, and updated through fp32
//! copies (Micikevicius et al. 2018, section 3.1).

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use candle_core::{DType, Tensor, Var};

use super::{Config, carrier::ErrorCarrier};
use crate::{
    optim::Optimizer,
    precision::{MasterStep, Precision, master_step},
};

/// A function that rounds a tensor to a low-precision format and keeps its dtype.
pub type Round = Box<dyn Fn(&Tensor) -> candle_core::Result<Tensor> + Send>;

/// An optimizer that steps on fp32 masters and rounds them into the model's weights.
pub struct MasterWeights {
    masters: Vec<Var>,
    names: Vec<String>,
    weights: Vec<Var>,
    inner: Box<dyn Optimizer>,
    round: Round,
    by: MasterStep,
}

impl MasterWeights {
    /// Copies the weights `params` to fp32 masters, rounds the weights by `round`, and builds the optimizer over the masters
    /// with `build`.
    pub fn new(
        params: Vec<(String, Var)>,
        round: Round,
        build: impl FnOnce(Vec<(String, Var)>) -> Result<Box<dyn Optimizer>>,
    ) -> Result<Self> {
        let copy = |(name, var): &(String, Var)| {
            let master = Var::from_tensor(&var.as_detached_tensor().to_dtype(DType::F32)?.copy()?)?;
            Ok((name.clone(), master))
        };
        let masters = params.iter().map(copy).collect::<Result<Vec<_>>>()?;
        let (names, weights): (Vec<_>, Vec<_>) = params.into_iter().unzip();
        for weight in &weights {
            weight.set(&round(&weight.as_detached_tensor())?)?;
        }
        Ok(Self {
            masters: masters.iter().map(|(_, var)| var.clone()).collect(),
            names,
            weights,
            inner: build(masters)?,
            round,
            by: master_step,
        })
    }

    /// Uses another function in place of [`master_step`].
    #[must_use]
    pub fn by(mut self, by: MasterStep) -> Self {
        self.by = by;
        self
    }
}

impl Optimizer for MasterWeights {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        let (inner, mut carrier) = (&mut self.inner, ErrorCarrier::default());
        let mut step = |grads: &[Tensor]| carrier.keep(inner.step(grads, lr));
        let stepped = (self.by)(&self.masters, &self.weights, grads, &mut step, &*self.round);
        carrier.restore(stepped)
    }

    /// The inner optimizer's state, and the masters as `NAME.master`.
    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let mut state = self.inner.state()?;
        for (name, var) in self.names.iter().zip(&self.masters) {
            state.push((format!("{name}.master"), var.as_detached_tensor().copy()?));
        }
        Ok(state)
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        let mut inner = state.clone();
        for (name, var) in self.names.iter().zip(&self.masters) {
            let key = format!("{name}.master");
            let master = inner.remove(&key);
            let master = master.with_context(|| format!("the optimizer's state has no tensor {key}"))?;
            var.set(&master.to_device(var.device())?)
                .with_context(|| format!("tensor {key}"))?;
        }
        inner.retain(|name, _| !name.ends_with(".master"));
        self.inner.load_state(&inner)
    }
}

/// Builds the optimizer of a run over the named `params`, with master weights if configured.
///
/// # Errors
/// Returns an error if the optimizer's settings are invalid, or if master weights are combined with another precision than
/// bf16 or fp16.
pub fn build_optimizer(config: &Config, params: Vec<(String, Var)>) -> Result<Box<dyn Optimizer>> {
    let optim = config.optim()?;
    if !config.master_weights {
        return optim.build(params);
    }
    let low = match config.precision {
        Precision::Bf16 => DType::BF16,
        Precision::Fp16 => DType::F16,
        other => bail!(
            "master-weights with precision {other}: expected bf16 or fp16, whose weights need fp32 copies"
        ),
    };
    let round: Round = Box::new(move |t| t.to_dtype(low)?.to_dtype(t.dtype()));
    Ok(Box::new(MasterWeights::new(params, round, |params| {
        optim.build(params)
    })?))
}
