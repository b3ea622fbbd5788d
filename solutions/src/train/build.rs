//! What a configuration describes: network, optimizer, schedule, collation.

use anyhow::{Result, bail, ensure};
use canopy_data::Dataset;
use serde::Deserialize;
use toml::Table;

use super::{Config, target};
use crate::{
    loader::{Augment, Collate},
    model::PointNetConfig,
    optim::OptimConfig,
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
        }
    }

    /// The collation of training clouds.
    pub fn collate(&self, data: Dataset) -> Collate {
        Collate {
            data,
            points: self.points,
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
            own: None,
        }
    }

    /// The optimizer's configuration: its own defaults, with the settings of this configuration that it has.
    ///
    /// # Errors
    /// Returns an error if there is no optimizer of this name, or if a setting that it does not have was changed.
    pub fn optim(&self) -> Result<OptimConfig> {
        let (name, all) = (&*self.optimizer, OptimConfig::all());
        let Some(optim) = all.iter().find(|optim| optim.name() == name) else {
            let names = all.map(|optim| optim.name()).join(", ");
            bail!("there is no optimizer '{name}': choose one of {names}");
        };
        let mut own = Table::try_from(optim)?;
        let [given, usual] = [self, &Self::default()].map(Table::try_from);
        let (mut given, usual) = (given?, usual?);
        given.remove("eps");
        if let Some(eps) = self.eps.0 {
            given.insert("eps".into(), eps.into());
        }
        for setting in ["weight-decay", "momentum", "nesterov", "beta1", "beta2", "eps"] {
            let Some(value) = given.get(setting) else { continue };
            match own.get_mut(&setting.replace('-', "_")) {
                Some(own) => *own = value.clone(),
                None => ensure!(
                    usual.get(setting) == Some(value),
                    "{setting} is {value}, but {name} has no such setting: remove it, or choose another optimizer"
                ),
            }
        }
        Ok(OptimConfig::deserialize(own)?)
    }
}
