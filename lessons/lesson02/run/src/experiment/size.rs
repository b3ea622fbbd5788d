//! How many parameters a network has, and how many multiplications it computes.

use anyhow::Result;
use candle_core::{DType, Device};
use canopy::model::{Kind, PointNet, PointNetConfig};
use grader::{
    cells,
    table::{Table, fixed, left},
};

use super::train;

/// Points of the cloud whose multiplications are counted.
const POINTS: usize = 1024;

/// The published sizes, and the network of this run.
pub fn table() -> Result<Table> {
    let published = |kind| PointNetConfig {
        kind,
        classes: 40,
        ..PointNetConfig::default()
    };
    let mut table = Table::new([
        left("network"),
        fixed("parameters", 2).unit("M"),
        fixed(format!("multiplications at {POINTS} points"), 0).unit("M"),
    ]);
    for (name, config) in [
        ("full, 40 classes", published(Kind::Full)),
        ("vanilla, 40 classes", published(Kind::Vanilla)),
        ("full, ¼ of the width, 7 classes", train::config(7)),
    ] {
        let (parameters, products) = size(&config)?;
        table.row(cells![name, parameters as f64 / 1e6, products as f64 / 1e6]);
    }
    Ok(table)
}

/// Parameters, and multiplications for one cloud of [`POINTS`] points.
fn size(config: &PointNetConfig) -> Result<(usize, usize)> {
    let model = PointNet::new(config, &Device::Cpu, DType::F32, 1)?;
    let mut products = 0;
    for (name, var) in model.params() {
        let weight = name.ends_with(".weight") && var.rank() == 2;
        // A shared MLP runs for each point, every other layer once for a cloud.
        let times = if name.contains("mlp") { POINTS } else { 1 };
        products += if weight { var.elem_count() * times } else { 0 };
    }
    if config.kind == Kind::Full {
        let wide = 64 / config.width;
        products += POINTS * (3 * 3 + wide * wide);
    }
    Ok((model.param_count(), products))
}
