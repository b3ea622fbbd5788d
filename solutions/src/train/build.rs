//! What a configuration describes: network, optimizer, schedule, collation.

use anyhow::{Context, Result, bail};
use canopy_data::Dataset;

use super::{Config, config::OPTIMIZERS, target};
use crate::{
    loader::{Augment, Collate},
    model::PointNetConfig,
    optim::{
        AdadeltaConfig, AdagradConfig, AdamConfig, AdamWConfig, LambConfig, LarsConfig, OptimConfig,
        RmspropConfig, SgdConfig,
    },
    schedule::Schedule,
};

impl Config {
    /// The network with `classes` outputs: a species each, or those of a head.
    pub fn network(&self, classes: usize) -> PointNetConfig {
        let (kind, width, dropout) = (self.model, self.width, self.dropout);
        PointNetConfig {
            kind,
            inputs: self.features.channels(),
            classes,
            categories: target::count(&self.categories),
            width,
            dropout,
            ..PointNetConfig::default()
        }
    }

    /// The collation of training clouds.
    pub fn collate(&self, data: Dataset) -> Collate {
        Collate {
            data,
            points: self.cloud_points(),
            frame: self.frame,
            features: self.features,
            augment: self.augment(),
            seed: self.seed,
        }
    }

    /// The augmentation of training clouds.
    pub fn augment(&self) -> Augment {
        Augment {
            turn: self.turn,
            jitter: self.jitter,
            scale: self.scale,
            point_dropout: self.point_dropout,
        }
    }

    /// The optimizer's configuration.
    ///
    /// # Errors
    /// Returns an error if there is no optimizer of this name, or if `eps` is neither a number nor `auto`.
    pub fn optim(&self) -> Result<OptimConfig> {
        let (weight_decay, momentum) = (self.weight_decay, self.momentum);
        let (beta1, beta2) = (self.beta1, self.beta2);
        Ok(match self.optimizer.as_str() {
            "adamw" => OptimConfig::AdamW(AdamWConfig {
                beta1,
                beta2,
                eps: self.eps(AdamWConfig::default().eps)?,
                weight_decay,
            }),
            "adam" => OptimConfig::Adam(AdamConfig {
                beta1,
                beta2,
                eps: self.eps(AdamConfig::default().eps)?,
                weight_decay,
                ..Default::default()
            }),
            "sgd" => OptimConfig::Sgd(SgdConfig {
                momentum,
                nesterov: self.nesterov,
                weight_decay,
            }),
            "adagrad" => OptimConfig::Adagrad(AdagradConfig {
                eps: self.eps(AdagradConfig::default().eps)?,
            }),
            "rmsprop" => OptimConfig::Rmsprop(RmspropConfig {
                eps: self.eps(RmspropConfig::default().eps)?,
                ..Default::default()
            }),
            "adadelta" => OptimConfig::Adadelta(AdadeltaConfig {
                eps: self.eps(AdadeltaConfig::default().eps)?,
                ..Default::default()
            }),
            "lars" => OptimConfig::Lars(LarsConfig {
                weight_decay,
                momentum,
                ..Default::default()
            }),
            "lamb" => OptimConfig::Lamb(LambConfig {
                beta1,
                beta2,
                eps: self.eps(LambConfig::default().eps)?,
                weight_decay,
            }),
            other => bail!(
                "there is no optimizer '{other}': choose one of {}",
                OPTIMIZERS.join(", ")
            ),
        })
    }

    /// Returns the setting `eps`, `usual` if it is `auto`.
    fn eps(&self, usual: f64) -> Result<f64> {
        if self.eps == "auto" {
            return Ok(usual);
        }
        let eps = self
            .eps
            .parse()
            .ok()
            .filter(|eps: &f64| eps.is_finite() && *eps >= 0.0);
        eps.with_context(|| {
            format!(
                "eps is '{}', expected auto or a number that is at least 0",
                self.eps
            )
        })
    }

    /// The learning rate schedule.
    ///
    /// # Errors
    /// Returns the errors of [`Schedule::parse`].
    pub fn schedule(&self) -> Result<Schedule> {
        Schedule::parse(&self.schedule, self.warmup)
    }
}
