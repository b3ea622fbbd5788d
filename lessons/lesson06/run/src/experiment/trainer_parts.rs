//! The functions of the run as parts of the trainer: loss scale and rounded weights.

use std::collections::HashMap;

use anyhow::{Result, bail};
use candle_core::{Tensor, Var};
use canopy::{
    optim::Optimizer,
    precision::{DynamicScaler, Format, LossScale},
    train::Round,
};

/// The loss scale of a training: updated by exercise 6.4, or constant.
pub struct Scale {
    pub state: DynamicScaler,
    /// What the loss is multiplied by in addition, as if the network's gradients were so much larger.
    pub factor: f64,
    /// `None`: it is constant.
    pub update: Option<fn(&mut DynamicScaler, bool)>,
}

impl LossScale for Scale {
    fn scale(&self) -> f64 {
        self.state.scale * self.factor
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        if let Some(update) = self.update {
            update(&mut self.state, found_inf);
        }
        Ok(())
    }
}

/// Weights that are rounded after each step, without masters: what master weights are compared with.
pub struct RoundedWeights {
    weights: Vec<Var>,
    round: Round,
    optimizer: Box<dyn Optimizer>,
}

impl RoundedWeights {
    /// Rounds `params` by `round`; `optimizer` updates them.
    pub fn new(params: &[(String, Var)], round: Round, optimizer: Box<dyn Optimizer>) -> Result<Self> {
        let weights: Vec<Var> = params.iter().map(|(_, v)| v.clone()).collect();
        let this = Self {
            weights,
            round,
            optimizer,
        };
        this.round_all()?;
        Ok(this)
    }

    fn round_all(&self) -> Result<()> {
        for weight in &self.weights {
            weight.set(&(self.round)(&weight.as_detached_tensor())?)?;
        }
        Ok(())
    }
}

impl Optimizer for RoundedWeights {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        self.optimizer.step(grads, lr)?;
        self.round_all()
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        bail!("the experiment saves nothing")
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        bail!("the experiment resumes nothing")
    }
}

/// Each number of `t` rounded to `format` by the student's function.
pub fn rounded(t: &Tensor, round: fn(f32, Format) -> f32, format: Format) -> candle_core::Result<Tensor> {
    let values: Vec<f32> = t.flatten_all()?.to_vec1()?;
    let rounded = values.into_iter().map(|v| round(v, format)).collect();
    Tensor::from_vec(rounded, t.shape(), t.device())
}
