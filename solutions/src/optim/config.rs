use std::{fmt, str::FromStr};

use anyhow::Context;
use candle_core::Var;
use serde::{Deserialize, Serialize};

use super::adam::{Adam, AdamConfig, AdamWConfig};
use super::adaptive::{AdadeltaConfig, AdagradConfig, Adaptive, Formula, RmspropConfig};
use super::layerwise::{Lamb, LambConfig, Lars, LarsConfig};
use super::lbfgs::{Lbfgs, LbfgsConfig};
use super::optimizer::Optimizer;
use super::sgd::{Sgd, SgdConfig};
use super::slices::Slices;
use super::state::{Params, Ruled};

/// The kind of optimizer and its settings. The learning rate is not among them: it is an argument of each step.
///
/// In TOML: `kind = "adamw"`, `weight_decay = 0.01`, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OptimConfig {
    /// Stochastic gradient descent with momentum.
    Sgd(SgdConfig),
    /// Adam, with weight decay added to the gradient.
    Adam(AdamConfig),
    /// Adam with decoupled weight decay.
    AdamW(AdamWConfig),
    /// Divides each step by the root of the sum of all squared gradients so far.
    Adagrad(AdagradConfig),
    /// Divides each step by the root of a running mean of the squared gradients.
    Rmsprop(RmspropConfig),
    /// RMSprop that also multiplies each step by the root mean square of past steps, so that it needs no learning rate.
    Adadelta(AdadeltaConfig),
    /// SGD with momentum; each tensor's learning rate is multiplied by its trust ratio.
    Lars(LarsConfig),
    /// AdamW; each tensor's step is multiplied by its trust ratio.
    Lamb(LambConfig),
    /// L-BFGS, a quasi-Newton method, for a loss over the whole data set.
    Lbfgs(LbfgsConfig),
}

/// What an optimizer adds to the root of the squares; `None`, or `auto`: its own default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eps(pub Option<f64>);

impl FromStr for Eps {
    type Err = anyhow::Error;

    /// # Errors
    /// Returns an error if the text is neither `auto` nor a number that is at least 0.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let eps = text
            .parse()
            .ok()
            .filter(|eps: &f64| eps.is_finite() && *eps >= 0.0);
        let eps =
            eps.with_context(|| format!("eps is '{text}', expected auto or a number that is at least 0"))?;
        Ok(Self(Some(eps)))
    }
}

impl fmt::Display for Eps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(eps) => write!(f, "{eps:e}"),
        }
    }
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

    /// Creates the optimizer of the named `params`, before its first step.
    ///
    /// # Errors
    /// Returns an error if a setting is out of range.
    pub fn build(&self, params: Vec<(String, Var)>) -> anyhow::Result<Box<dyn Optimizer>> {
        self.build_for(params, None)
    }

    /// As [`Self::build`]. If `params` are slices of parameters whose other slices are on other ranks, `slices` says of which:
    /// LARS and LAMB need norms of whole parameters.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_for(
        &self,
        params: Vec<(String, Var)>,
        slices: Option<Slices>,
    ) -> anyhow::Result<Box<dyn Optimizer>> {
        let params = Params::from(params);
        let vars = params.vars.clone();
        let adaptive = |formula| Adaptive::new(&vars, formula);
        Ok(match self.clone() {
            Self::Sgd(config) => Box::new(Ruled::new(params, Sgd::new(&vars, config)?)),
            Self::Adam(config) => Box::new(Ruled::new(params, Adam::new(&vars, config)?)),
            Self::AdamW(config) => Box::new(Ruled::new(params, Adam::new(&vars, config.into())?)),
            Self::Adagrad(config) => Box::new(Ruled::new(params, adaptive(Formula::Adagrad(config))?)),
            Self::Rmsprop(config) => Box::new(Ruled::new(params, adaptive(Formula::Rmsprop(config))?)),
            Self::Adadelta(config) => Box::new(Ruled::new(params, adaptive(Formula::Adadelta(config))?)),
            Self::Lars(config) => Box::new(Ruled::new(params, Lars::new(&vars, config, slices)?)),
            Self::Lamb(config) => Box::new(Ruled::new(params, Lamb::new(&vars, config, slices)?)),
            Self::Lbfgs(config) => Box::new(Lbfgs::new(params, config)?),
        })
    }
}
