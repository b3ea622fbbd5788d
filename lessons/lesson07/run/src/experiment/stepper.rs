//! The steps of the exercises as optimizers of the trainer.

use std::collections::HashMap;

use anyhow::{Result, bail};
use candle_core::{Tensor, Var};
use canopy::optim::{AdamState, LambConfig, LarsConfig, Optimizer};
use lesson07::Lesson07;

/// The step of exercise 7.5 or 7.6 as an optimizer of the trainer.
pub struct Stepper {
    params: Vec<Var>,
    step: Step,
}

enum Step {
    Lars(Lesson07, Vec<Var>, LarsConfig),
    Lamb(Lesson07, AdamState, LambConfig),
}

impl Stepper {
    /// LARS with momentum 0.9.
    pub fn lars(answer: Lesson07, params: Vec<Var>) -> Result<Self> {
        let zero = |p: &Var| Var::zeros(p.shape(), p.dtype(), p.device());
        let velocities = params.iter().map(zero).collect::<candle_core::Result<_>>()?;
        let config = LarsConfig {
            trust: 0.02,
            ..LarsConfig::default()
        };
        let step = Step::Lars(answer, velocities, config);
        Ok(Self { params, step })
    }

    /// LAMB as in the paper.
    pub fn lamb(answer: Lesson07, params: Vec<Var>) -> Result<Self> {
        let state = AdamState::zeros_like(params.iter())?;
        let step = Step::Lamb(answer, state, LambConfig::default());
        Ok(Self { params, step })
    }
}

impl Optimizer for Stepper {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        Ok(match &mut self.step {
            Step::Lars(answer, velocities, config) => {
                (answer.lars_step)(&self.params, grads, velocities, lr, config)
            }
            Step::Lamb(answer, state, config) => (answer.lamb_step)(&self.params, grads, state, lr, config),
        }?)
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        bail!("the experiment saves nothing")
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        bail!("the experiment resumes nothing")
    }
}
