//! Which functions run: the student's where they are right, canopy's elsewhere; and how they stand in the trainer.

use std::{collections::HashMap, sync::OnceLock};

use anyhow::{Result, bail};
use candle_core::{Tensor, Var};
use canopy::{
    kernels::weighted_sum,
    optim::Optimizer,
    precision::{BF16, DynamicScaler, Format, LossScale, ScaledGradients, Walk},
};
use lesson06::Lesson06;

/// The loss scale of a training: by exercise 6.4, or always the same.
pub struct Scale {
    pub state: DynamicScaler,
    /// None: it stays.
    pub update: Option<fn(&mut DynamicScaler, bool)>,
}

impl LossScale for Scale {
    fn scale(&self) -> f64 {
        self.state.scale
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        if let Some(update) = self.update {
            update(&mut self.state, found_inf);
        }
        Ok(())
    }
}

/// The function of exercise 6.3 that [`followed`] calls.
pub static SCALED: OnceLock<ScaledGradients> = OnceLock::new();

/// Exercise 6.3 on a loss of the fused pass, which candle's operators cannot follow: the function gets a variable of the
/// same value, and the pass walks back from as many times its loss as came of that variable.
pub fn followed(loss: &Tensor, scale: f64, walk: Walk) -> candle_core::Result<(Vec<Tensor>, bool)> {
    let leaf = Var::from_tensor(&loss.detach())?;
    let scaled = SCALED
        .get()
        .copied()
        .unwrap_or(canopy::precision::scaled_gradients);
    scaled(leaf.as_tensor(), scale, &mut |scaled| {
        let slope = match scaled.backward()?.get(&leaf) {
            Some(slope) => slope.to_scalar::<f32>()?,
            None => 0.0,
        };
        walk(&weighted_sum(&[(loss, f64::from(slope))])?)
    })
}

/// Weights that are bf16 between steps, with fp32 masters by exercise 6.5 or without any.
pub struct Bf16Weights {
    answer: Lesson06,
    weights: Vec<Var>,
    masters: Option<Vec<Var>>,
    optimizer: Box<dyn Optimizer>,
}

impl Bf16Weights {
    /// `build` makes the optimizer over the variables that it changes.
    pub fn new(
        answer: Lesson06,
        params: &[(String, Var)],
        masters: bool,
        build: impl FnOnce(Vec<(String, Var)>) -> Result<Box<dyn Optimizer>>,
    ) -> Result<Self> {
        let weights: Vec<Var> = params.iter().map(|(_, v)| v.clone()).collect();
        let copies = params
            .iter()
            .map(|(name, v)| Ok((name.clone(), Var::from_tensor(&v.as_tensor().copy()?)?)))
            .collect::<candle_core::Result<Vec<_>>>()?;
        let optimizer = build(if masters { copies.clone() } else { params.to_vec() })?;
        let masters = masters.then(|| copies.into_iter().map(|(_, v)| v).collect());
        for weight in &weights {
            weight.set(&rounded(weight, answer.round_to, BF16)?)?;
        }
        Ok(Self {
            answer,
            weights,
            masters,
            optimizer,
        })
    }
}

impl Optimizer for Bf16Weights {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        let (optimizer, answer) = (&mut self.optimizer, self.answer);
        let low = |t: &Tensor| rounded(t, answer.round_to, BF16);
        let Some(masters) = &self.masters else {
            optimizer.step(grads, lr)?;
            for weight in &self.weights {
                weight.set(&low(weight)?)?;
            }
            return Ok(());
        };
        let step = &mut |grads: &[Tensor]| {
            optimizer
                .step(grads, lr)
                .map_err(|e| candle_core::Error::Msg(format!("{e:#}")))
        };
        Ok((answer.master_step)(masters, &self.weights, grads, step, &low)?)
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        bail!("the experiment saves nothing")
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        bail!("the experiment takes up nothing")
    }
}

fn rounded(t: &Tensor, round: fn(f32, Format) -> f32, format: Format) -> candle_core::Result<Tensor> {
    let values: Vec<f32> = t.flatten_all()?.to_vec1()?;
    let rounded = values.into_iter().map(|v| round(v, format)).collect();
    Tensor::from_vec(rounded, t.shape(), t.device())
}
