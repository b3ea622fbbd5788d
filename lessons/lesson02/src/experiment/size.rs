//! How large a network is, and how much it computes.

use anyhow::Result;
use candle_core::{DType, Device};
use canopy::model::{Kind, PointNet, PointNetConfig};

/// Points of the cloud that is counted for.
pub const POINTS: usize = 1024;

/// Parameters, and multiplications for one cloud of [`POINTS`] points.
pub fn size(config: &PointNetConfig) -> Result<(usize, usize)> {
    let model = PointNet::new(config, &Device::Cpu, DType::F32, 1)?;
    let mut products = 0;
    for (name, var) in model.params() {
        let weight = name.ends_with(".weight") && var.rank() == 2;
        // A shared MLP runs for each point, all else once for a cloud.
        let times = if name.contains("mlp") { POINTS } else { 1 };
        products += if weight { var.elem_count() * times } else { 0 };
    }
    if config.kind == Kind::Full {
        let wide = 64 / config.width;
        products += POINTS * (3 * 3 + wide * wide);
    }
    Ok((model.param_count(), products))
}
