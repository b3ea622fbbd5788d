//! Small networks, batches, and the tensors that a call leaves behind, for the checks of 4.2, 4.3 and 4.7.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::model::{Kind, PointNet, PointNetConfig};
use grader::{Draw, Facts, Values};

pub const CLASSES: usize = 4;

/// A network of a sixteenth of the published width.
pub fn network(kind: Kind, dtype: DType, seed: u64, dropout: f32) -> Result<PointNet> {
    let mut config = PointNetConfig::default();
    (config.kind, config.width, config.classes, config.dropout) = (kind, 16, CLASSES, dropout);
    PointNet::new(&config, &Device::Cpu, dtype, seed)
}

/// Clouds of 8 points.
pub fn points(d: &mut Draw, clouds: usize, dtype: DType) -> candle_core::Result<Tensor> {
    Tensor::from_vec(d.list(clouds * 8 * 3, -1.0, 1.0), (clouds, 8, 3), &Device::Cpu)?.to_dtype(dtype)
}

/// Named tensors, of a network or of an optimizer.
pub type Tensors = Vec<(String, Values)>;

pub fn tensors(all: impl IntoIterator<Item = (String, Tensor)>) -> Result<Tensors> {
    let of = |(name, tensor)| Ok((name, kit::values(&tensor)?));
    all.into_iter().map(of).collect()
}

pub fn after(facts: Facts, tensors: Tensors) -> Facts {
    let add = |facts: Facts, (name, values)| facts.values(format!("{name} afterwards"), values);
    tensors.into_iter().fold(facts, add)
}
