//! Small models and inputs for tests of the model.

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{Pass, cross_entropy, weighted_sum};
use canopy::model::{Kind, PointNet, PointNetConfig, orthogonality};
use canopy_data::Philox;

pub const KINDS: [Kind; 2] = [Kind::Full, Kind::Vanilla];

/// A network of a sixteenth of the width, with five classes.
pub fn config(kind: Kind) -> PointNetConfig {
    PointNetConfig {
        kind,
        classes: 5,
        width: 16,
        ..PointNetConfig::default()
    }
}

pub fn model(kind: Kind, seed: u64) -> PointNet {
    PointNet::new(&config(kind), &Device::Cpu, DType::F32, seed).unwrap()
}

/// The weights of a file, in a network of `config`.
pub fn from_file(config: &PointNetConfig, path: &Path, dtype: DType) -> PointNet {
    let model = PointNet::new(config, &Device::Cpu, dtype, 0).unwrap();
    let map = candle_core::safetensors::load(path, &Device::Cpu).unwrap();
    model.from_map(&map, &path.display().to_string()).unwrap();
    model
}

/// A model with noise added to every parameter, so that no gradient is zero by construction.
pub fn shaken(kind: Kind, seed: u64) -> PointNet {
    let model = model(kind, seed);
    let mut random = Philox::new(seed, 77);
    for (_, var) in model.params() {
        let noise: Vec<f32> = (0..var.elem_count())
            .map(|_| 0.2 * random.normal() as f32)
            .collect();
        let noise = Tensor::from_vec(noise, var.shape(), &Device::Cpu).unwrap();
        var.set(&(var.as_tensor() + noise).unwrap()).unwrap();
    }
    model
}

pub fn pass(train: bool, plain: bool) -> Pass {
    let pass = if train { Pass::train(3, 0) } else { Pass::eval() };
    pass.plain(plain)
}

/// Coordinates of normally distributed points, cloud by cloud.
pub fn points(clouds: usize, points: usize, seed: u64) -> Vec<f32> {
    let mut random = Philox::new(seed, 5);
    (0..clouds * points * 3).map(|_| random.normal() as f32).collect()
}

/// `[clouds, points, 3]`.
pub fn tensor(coordinates: &[f32], clouds: usize) -> Tensor {
    let shape = (clouds, coordinates.len() / 3 / clouds, 3);
    Tensor::from_slice(coordinates, shape, &Device::Cpu).unwrap()
}

pub fn flat(t: &Tensor) -> Vec<f32> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

pub fn logits(model: &PointNet, x: &Tensor, pass: &Pass) -> Vec<f32> {
    flat(&model.forward(x, pass).unwrap().logits)
}

/// Returns the trainer's loss and every gradient.
pub fn loss_and_gradients(model: &PointNet, x: &Tensor, pass: &Pass) -> (f32, Vec<Tensor>) {
    let out = model.forward(x, pass).unwrap();
    let labels: Vec<u32> = (0..x.dim(0).unwrap() as u32).map(|i| i % 5).collect();
    let labels = Tensor::new(labels, &Device::Cpu).unwrap();
    let mut loss = cross_entropy(&out.logits, &labels, 0.1, None).unwrap();
    if let Some(t) = &out.feature_transform {
        loss = weighted_sum(&[(&loss, 1.0), (&orthogonality(t).unwrap(), 0.001)]).unwrap();
    }
    (loss.to_scalar().unwrap(), model.gradients(&loss, pass).unwrap())
}
