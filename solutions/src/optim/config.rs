use std::{fmt, str::FromStr};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::adam::AdamConfig;
use super::layerwise::{LambConfig, LarsConfig};
use super::sgd::SgdConfig;

/// The kind of optimizer and its settings. The learning rate is not among them: it is an argument of each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OptimConfig {
    /// Stochastic gradient descent with momentum.
    Sgd(SgdConfig),
    /// Adam, with weight decay added to the gradient.
    Adam(AdamConfig),
    /// Adam with decoupled weight decay.
    AdamW(AdamConfig),
    /// SGD with momentum; each tensor's learning rate is multiplied by its trust ratio.
    Lars(LarsConfig),
    /// AdamW; each tensor's step is multiplied by its trust ratio.
    Lamb(LambConfig),
}

/// What an optimizer adds to the root of the squares; `None`, or `auto`: its own default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eps(pub Option<f64>);

impl FromStr for Eps {
    type Err = anyhow::Error;

    /// # Errors
    /// Returns an error if the text is neither `auto` nor a number that is at least 0.
    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let eps = text
            .parse()
            .ok()
            .filter(|&eps| (0.0..f64::INFINITY).contains(&eps));
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
        Self::AdamW(AdamConfig {
            weight_decay: 0.01,
            ..AdamConfig::default()
        })
    }

    /// Every optimizer with its default settings.
    pub fn all() -> [Self; 5] {
        [
            Self::adamw(),
            Self::adam(),
            Self::sgd(),
            Self::Lars(LarsConfig::default()),
            Self::Lamb(LambConfig::default()),
        ]
    }

    /// Its name, as in `--optimizer`.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// The kinds of state that each parameter has, named as in PyTorch.
    pub(super) fn states(&self) -> &'static [&'static str] {
        self.row().1
    }

    fn row(&self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::AdamW(_) => ("adamw", &["exp_avg", "exp_avg_sq"]),
            Self::Adam(_) => ("adam", &["exp_avg", "exp_avg_sq"]),
            Self::Sgd(config) if config.momentum == 0.0 => ("sgd", &[]),
            Self::Sgd(_) => ("sgd", &["momentum_buffer"]),
            Self::Lars(_) => ("lars", &["momentum_buffer"]),
            Self::Lamb(_) => ("lamb", &["exp_avg", "exp_avg_sq"]),
        }
    }
}
