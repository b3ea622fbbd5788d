//! Small networks, batches and optimizers for the checks.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::{
    kernels::Pass,
    model::{Kind, PointNet, PointNetConfig},
    optim::Optimizer,
};
use grader::Draw;

use super::said;

pub const CLASSES: usize = 4;
pub const POINTS: usize = 8;

/// A sixteenth of the published width.
pub fn network(kind: Kind, dtype: DType, seed: u64) -> Result<PointNet> {
    with_dropout(kind, dtype, seed, 0.3)
}

fn with_dropout(kind: Kind, dtype: DType, seed: u64, dropout: f32) -> Result<PointNet> {
    let config = PointNetConfig {
        kind,
        classes: CLASSES,
        width: 16,
        dropout,
        ..PointNetConfig::default()
    };
    said(PointNet::new(&config, &Device::Cpu, dtype, seed))
}

/// Clouds and their labels.
pub fn batch(draw: &mut Draw, clouds: usize) -> Result<(Tensor, Tensor)> {
    let points = draw.list(clouds * POINTS * 3, -1.0, 1.0);
    let labels = draw.below(clouds, CLASSES);
    Ok((
        Tensor::from_vec(points, (clouds, POINTS, 3), &Device::Cpu)?,
        Tensor::from_vec(labels, clouds, &Device::Cpu)?,
    ))
}

/// A network whose running statistics have been updated. It has no dropout, so that a training pass shows by its statistics
/// alone, whatever its seed is.
pub fn seasoned(kind: Kind, dtype: DType, draw: &mut Draw) -> Result<PointNet> {
    let model = with_dropout(kind, dtype, draw.whole(1, 10_000) as u64, 0.0)?;
    for step in 0..3 {
        let (points, _) = batch(draw, 6)?;
        let points = (points.to_dtype(dtype)? * 1.5)?;
        said(model.forward(&points, &Pass::train(1, step)))?;
    }
    Ok(model)
}

/// All weights and running statistics, as bits.
pub fn bits(model: &PointNet) -> Result<HashMap<String, Vec<u64>>> {
    let of = |(name, t): (String, Tensor)| Ok((name, tensor_bits(&t)?));
    said(model.to_map())?.into_iter().map(of).collect()
}

pub fn tensor_bits(t: &Tensor) -> Result<Vec<u64>> {
    let numbers: Vec<f64> = t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(numbers.into_iter().map(f64::to_bits).collect())
}

/// An optimizer that records its gradients, and steps as plain SGD.
pub struct Recorder {
    params: Vec<Var>,
    pub steps: Vec<(Vec<Tensor>, f64)>,
    /// Whether its step fails.
    pub fails: bool,
}

impl Recorder {
    pub fn new(model: &PointNet) -> Self {
        Self {
            params: model.params().into_iter().map(|(_, v)| v).collect(),
            steps: Vec::new(),
            fails: false,
        }
    }
}

impl Optimizer for Recorder {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> anyhow::Result<()> {
        anyhow::ensure!(!self.fails, "the optimizer failed");
        for (param, grad) in self.params.iter().zip(grads) {
            param.set(&(param.as_detached_tensor() - (grad.detach() * lr)?)?)?;
        }
        self.steps.push((grads.to_vec(), lr));
        Ok(())
    }

    fn state(&self) -> anyhow::Result<Vec<(String, Tensor)>> {
        Ok(Vec::new())
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> anyhow::Result<()> {
        Ok(())
    }
}
