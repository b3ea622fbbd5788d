use candle_core::Var;
use serde::{Deserialize, Serialize};

use super::{
    AdadeltaConfig, AdagradConfig, Adam, AdamConfig, AdamWConfig, Adaptive, Lamb, LambConfig, Lars,
    LarsConfig, Lbfgs, LbfgsConfig, Optimizer, RmspropConfig, Sgd, SgdConfig,
};

/// Which optimizer, and its settings; the learning rate comes with each step.
///
/// In TOML: `kind = "adamw"`, `weight_decay = 0.01`, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OptimConfig {
    /// Stochastic gradient descent with momentum.
    Sgd(SgdConfig),
    /// Adam, its weight decay part of the gradient.
    Adam(AdamConfig),
    /// Adam with decoupled weight decay.
    AdamW(AdamWConfig),
    /// Steps divided by the root of all squared gradients so far.
    Adagrad(AdagradConfig),
    /// Steps divided by the root of a running mean of squared gradients.
    Rmsprop(RmspropConfig),
    /// RMSprop with a step length of its own.
    Adadelta(AdadeltaConfig),
    /// SGD with momentum, each tensor's rate by its trust ratio.
    Lars(LarsConfig),
    /// AdamW, each tensor's step by its trust ratio.
    Lamb(LambConfig),
    /// Quasi-Newton, for a loss that is not drawn anew each step.
    Lbfgs(LbfgsConfig),
}

impl Default for OptimConfig {
    fn default() -> Self {
        Self::adamw()
    }
}

impl OptimConfig {
    /// Momentum 0.9, no weight decay.
    pub fn sgd() -> Self {
        Self::Sgd(SgdConfig::default())
    }

    /// PyTorch's defaults: β 0.9 and 0.999, ε 1e-8, no weight decay.
    pub fn adam() -> Self {
        Self::Adam(AdamConfig::default())
    }

    /// PyTorch's defaults: those of Adam and weight decay 0.01.
    pub fn adamw() -> Self {
        Self::AdamW(AdamWConfig::default())
    }

    /// The optimizer over `params`.
    ///
    /// # Errors
    /// A setting out of range; candle's.
    pub fn build(&self, params: Vec<(String, Var)>) -> anyhow::Result<Box<dyn Optimizer>> {
        Ok(match self {
            Self::Sgd(config) => Box::new(Sgd::new(params, config.clone())?),
            Self::Adam(config) => Box::new(Adam::new(params, config.clone())?),
            Self::AdamW(config) => Box::new(Adam::decoupled(params, config.clone())?),
            Self::Adagrad(config) => Box::new(Adaptive::adagrad(params, config.clone())?),
            Self::Rmsprop(config) => Box::new(Adaptive::rmsprop(params, config.clone())?),
            Self::Adadelta(config) => Box::new(Adaptive::adadelta(params, config.clone())?),
            Self::Lars(config) => Box::new(Lars::new(params, config.clone())?),
            Self::Lamb(config) => Box::new(Lamb::new(params, config.clone())?),
            Self::Lbfgs(config) => Box::new(Lbfgs::new(params, config.clone())?),
        })
    }
}
