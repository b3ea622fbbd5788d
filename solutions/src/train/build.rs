//! What a configuration describes: network, optimizer, schedule, collation.

use anyhow::{Result, bail};
use canopy_data::Dataset;

use super::{Config, config::OPTIMIZERS, target};
use crate::{
    loader::{Augment, Collate},
    model::PointNetConfig,
    optim::{AdamConfig, AdamWConfig, LambConfig, LarsConfig, OptimConfig, SgdConfig},
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
    /// Returns an error if there is no optimizer of this name.
    pub fn optim(&self) -> Result<OptimConfig> {
        let (weight_decay, momentum) = (self.weight_decay, self.momentum);
        Ok(match self.optimizer.as_str() {
            "adamw" => OptimConfig::AdamW(AdamWConfig {
                weight_decay,
                ..Default::default()
            }),
            "adam" => OptimConfig::Adam(AdamConfig {
                weight_decay,
                ..Default::default()
            }),
            "sgd" => OptimConfig::Sgd(SgdConfig {
                weight_decay,
                momentum,
                ..Default::default()
            }),
            "adagrad" => OptimConfig::Adagrad(Default::default()),
            "rmsprop" => OptimConfig::Rmsprop(Default::default()),
            "adadelta" => OptimConfig::Adadelta(Default::default()),
            "lars" => OptimConfig::Lars(LarsConfig {
                weight_decay,
                momentum,
                ..Default::default()
            }),
            "lamb" => OptimConfig::Lamb(LambConfig {
                weight_decay,
                ..Default::default()
            }),
            other => bail!(
                "there is no optimizer '{other}': choose one of {}",
                OPTIMIZERS.join(", ")
            ),
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
