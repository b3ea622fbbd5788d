//! Writes a trained network and test trees for the page of the book's chapter 02: `pointnet RUN FILE`.
//!
//! `book/record pointnet` trains the network, and runs this program.

use std::{collections::HashMap, env, path::Path};

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor, Var};
use canopy::{
    kernels::{BatchNorm, Pass},
    loader::{normalise, random_sample},
    model::{BN_EPS, BN_MOMENTUM, PointNet},
    train::{RunFolder, checkpoint, data, short::built_in},
};
use canopy_data::Philox;

/// Trees of each species.
const TREES: usize = 2;
/// Units of a stored coordinate in a metre.
const PER_METRE: f32 = 100.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [run, file] = &arguments[..] else {
        bail!("usage: pointnet RUN FILE");
    };
    let saved = checkpoint::load(&Path::new(run).join(RunFolder::BEST))?;
    let (config, species) = (&saved.progress.config, &saved.progress.species);
    let mut written = HashMap::new();
    for name in saved.model.keys() {
        let layer = name.strip_suffix(".weight");
        if let Some(layer) = layer.filter(|layer| !layer.ends_with(".bn")) {
            let (weight, bias) = folded(layer, &saved.model)?;
            written.insert(format!("{layer}.weight"), weight.to_dtype(DType::F16)?);
            written.insert(format!("{layer}.bias"), bias.to_dtype(DType::F16)?);
        }
    }

    let forest = data::choose(config, &built_in()?)?;
    let (mut labels, mut trees, mut clouds) = (Vec::new(), Vec::new(), Vec::new());
    for record in data::split(config, &forest)?.test {
        let label = forest.records[record].species as u8;
        if labels.iter().filter(|&&l| l == label).count() == TREES {
            continue;
        }
        let mut random = Philox::new(config.seed, record as u64);
        let mut cloud = random_sample(&forest.cloud(record)?.xyz, config.points, &mut random);
        // The network gets the coordinates as they are stored.
        for coordinate in cloud.as_flattened_mut() {
            let stored = (*coordinate * PER_METRE).round();
            trees.push(stored as i16);
            *coordinate = stored / PER_METRE;
        }
        normalise(&mut cloud);
        clouds.extend(cloud.into_flattened());
        labels.push(label);
    }
    let shape = (labels.len(), config.points, 3);
    let network = PointNet::new(&config.network(species.len()), &Device::Cpu, DType::F32, 0)?;
    network.from_map(&saved.model, run)?;
    let clouds = Tensor::from_vec(clouds, shape, &Device::Cpu)?;
    let logits = network.forward(&clouds, &Pass::eval())?.logits;
    let trees = Tensor::from_vec(trees, shape, &Device::Cpu)?;
    let labels = Tensor::new(labels, &Device::Cpu)?;
    written.extend(
        [("logits", logits), ("trees", trees), ("labels", labels)].map(|(name, t)| (name.to_owned(), t)),
    );
    let about = HashMap::from([("species".to_owned(), species.join(","))]);
    safetensors::serialize_to_file(written, Some(about), Path::new(file))
        .with_context(|| format!("{file} cannot be written"))
}

/// Weight and bias of `layer`, with its batch norm if it has one.
fn folded(layer: &str, model: &HashMap<String, Tensor>) -> Result<(Tensor, Tensor)> {
    let tensor = |name: &str| {
        let name = format!("{layer}.{name}");
        model
            .get(&name)
            .with_context(|| format!("the network has no tensor {name}"))
    };
    let Ok(gamma) = tensor("bn.weight") else {
        return Ok((tensor("weight")?.clone(), tensor("bias")?.clone()));
    };
    let bn = BatchNorm {
        gamma: Var::from_tensor(gamma)?,
        beta: Var::from_tensor(tensor("bn.bias")?)?,
        mean: Var::from_tensor(tensor("bn.running_mean")?)?,
        var: Var::from_tensor(tensor("bn.running_var")?)?,
        momentum: BN_MOMENTUM,
        eps: BN_EPS,
    };
    Ok(bn.folded(tensor("weight")?)?)
}
