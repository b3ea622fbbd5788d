//! What a configuration describes: network, optimizer, schedule, collation.

use anyhow::{Result, ensure};
use canopy_data::Dataset;
use serde::Deserialize;
use toml::{Table, Value};

use super::{Config, config::OPTIMIZERS, target};
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

    /// The optimizer's configuration: its own defaults, with the settings of this configuration that it has.
    ///
    /// # Errors
    /// Returns an error if there is no optimizer of this name, or if a setting that it does not have was changed.
    pub fn optim(&self) -> Result<OptimConfig> {
        ensure!(
            OPTIMIZERS.contains(&&*self.optimizer),
            "there is no optimizer '{}': choose one of {}",
            self.optimizer,
            OPTIMIZERS.join(", ")
        );
        let kind = Table::from_iter([("kind".to_owned(), self.optimizer.clone().into())]);
        let mut own = Table::try_from(OptimConfig::deserialize(kind)?)?;
        let usual = Self::default();
        let settings: [(&str, Value, Value); 5] = [
            (
                "weight_decay",
                self.weight_decay.into(),
                usual.weight_decay.into(),
            ),
            ("momentum", self.momentum.into(), usual.momentum.into()),
            ("nesterov", self.nesterov.into(), usual.nesterov.into()),
            ("beta1", self.beta1.into(), usual.beta1.into()),
            ("beta2", self.beta2.into(), usual.beta2.into()),
        ];
        let eps = self.eps.0.map(|eps| ("eps", eps.into(), Value::Boolean(false)));
        for (name, value, usual) in settings.into_iter().chain(eps) {
            match own.get_mut(name) {
                Some(setting) => *setting = value,
                None => ensure!(
                    value == usual,
                    "{} is {value}, but {} has no such setting: remove it, or choose another optimizer",
                    name.replace('_', "-"),
                    self.optimizer
                ),
            }
        }
        Ok(OptimConfig::deserialize(own)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::{Eps, SgdConfig};

    #[test]
    fn an_optimizer_gets_its_settings_and_another_ones_are_an_error() {
        let usual = Config::default();
        for optimizer in OPTIMIZERS {
            let config = Config {
                optimizer: optimizer.into(),
                ..usual.clone()
            };
            config.optim().expect(optimizer);
        }
        let sgd = Config {
            optimizer: "sgd".into(),
            momentum: 0.5,
            ..usual.clone()
        };
        let expected = SgdConfig {
            momentum: 0.5,
            nesterov: false,
            weight_decay: usual.weight_decay,
        };
        assert_eq!(sgd.optim().unwrap(), OptimConfig::Sgd(expected));
        let beta = Config { beta1: 0.5, ..sgd };
        let decay = Config {
            optimizer: "rmsprop".into(),
            weight_decay: 0.1,
            ..usual.clone()
        };
        let eps = Config {
            optimizer: "lars".into(),
            eps: Eps(Some(1e-8)),
            ..usual.clone()
        };
        let nesterov = Config {
            nesterov: true,
            ..usual
        };
        for (config, part) in [
            (beta, "beta1 is 0.5, but sgd has no such setting"),
            (decay, "weight-decay is 0.1, but rmsprop has"),
            (eps, "eps is 0.00000001, but lars has"),
            (nesterov, "nesterov is true, but adamw has"),
        ] {
            let said = format!("{:#}", config.validate().unwrap_err());
            assert!(said.contains(part), "{said}");
        }
    }
}
