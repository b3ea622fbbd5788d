//! The parts of the experiment.

pub mod files;
pub mod leakage;
pub mod padding;
pub mod waiting;

use anyhow::Result;
use candle_core::{DType, Device};
use canopy::{
    model::{PointNet, PointNetConfig},
    optim::OptimConfig,
    train::{Loss, short::Learner},
};

/// A new network that AdamW trains.
fn learner(network: &PointNetConfig, device: &Device, seed: u64) -> Result<Learner> {
    let model = PointNet::new(network, device, DType::F32, seed)?;
    let optimizer = OptimConfig::adamw().build(model.params())?;
    Ok(Learner {
        seed,
        clip: 1.0,
        ..Learner::new(model, optimizer, Loss::CROSS_ENTROPY)
    })
}
