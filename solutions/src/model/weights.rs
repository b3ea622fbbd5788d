//! Weights by name, canopy's and PyTorch's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result, bail, ensure};
use candle_core::Tensor;

use super::layers::Named;
use super::{Kind, PointNet, PointNetConfig, embedding};

/// PyTorch's batch norm counts its batches; this count is not used here.
const IGNORED_SUFFIX: &str = ".num_batches_tracked";

impl PointNet {
    /// A copy of every parameter and buffer by name; later steps do not change it.
    pub fn to_map(&self) -> Result<BTreeMap<String, Tensor>> {
        self.named()
            .map(|(name, var)| Ok((name.clone(), var.as_detached_tensor().copy()?)))
            .collect()
    }

    /// Sets every parameter and buffer. `source` is the origin of the tensors, for error messages.
    ///
    /// Accepts PyTorch's tensors as well: the dtype is converted, a `Conv1d`'s `[out, in, 1]` is
    /// read as `[out, in]`, the bias of a layer with batch norm is folded into the running mean.
    ///
    /// # Errors
    /// Returns an error if the tensors are of another model (it describes both), or if one is missing, unknown or of another
    /// shape. The model is then unchanged.
    pub fn from_map(&self, map: &HashMap<String, Tensor>, source: &str) -> Result<()> {
        let file = self.config_of(map).with_context(|| source.to_owned())?;
        ensure!(
            file == self.config,
            "{source}: contains a {}, but the model is a {}; create the model with the file's settings",
            describe(&file),
            describe(&self.config)
        );
        self.refuse_unknown(map).with_context(|| source.to_owned())?;
        let values = self
            .named()
            .map(|(name, var)| Ok((self.value_for(name, var.dims(), map)?, var)))
            .collect::<Result<Vec<_>>>()
            .with_context(|| source.to_owned())?;
        for (value, var) in values {
            var.set(&value)?;
        }
        Ok(())
    }

    fn named(&self) -> impl Iterator<Item = &Named> {
        self.params.iter().chain(&self.buffers)
    }

    /// The configuration of the model that the tensors belong to: they have its kind, inputs, classes, categories and width;
    /// the rest is this model's.
    fn config_of(&self, map: &HashMap<String, Tensor>) -> Result<PointNetConfig> {
        let out = |name: &str| {
            let tensor = map.get(name).with_context(|| {
                let first = map.keys().min().map_or("no tensor at all", String::as_str);
                format!("not the weights of a PointNet: it has no tensor {name} (it has {first})")
            })?;
            match tensor.dims().first() {
                Some(&channels) if channels > 0 => Ok(channels),
                _ => bail!("tensor {name}: expected shape [out, in], got {:?}", tensor.dims()),
            }
        };
        let (channels, classes) = (out("mlp.0.weight")?, out("classifier.weight")?);
        ensure!(
            64 % channels == 0,
            "tensor mlp.0.weight: expected 64 rows or a divisor of 64, got {channels}"
        );
        let inputs = match *map["mlp.0.weight"].dims() {
            [_, inputs] | [_, inputs, 1] => inputs,
            ref dims => bail!("tensor mlp.0.weight: expected shape [out, in], got {dims:?}"),
        };
        let categories = match map.contains_key(embedding::NAME) {
            true => out(embedding::NAME)?,
            false => 0,
        };
        let full = map.keys().any(|name| name.starts_with("input_transform."));
        Ok(PointNetConfig {
            kind: if full { Kind::Full } else { Kind::Vanilla },
            inputs,
            classes,
            categories,
            width: 64 / channels,
            ..self.config.clone()
        })
    }

    fn refuse_unknown(&self, map: &HashMap<String, Tensor>) -> Result<()> {
        let mut known: BTreeSet<String> = self.named().map(|(name, _)| name.clone()).collect();
        known.extend(self.buffers.iter().filter_map(|(name, _)| folded_bias(name)));
        let unknown = map
            .keys()
            .filter(|name| !known.contains(*name) && !name.ends_with(IGNORED_SUFFIX))
            .min();
        match unknown {
            None => Ok(()),
            Some(name) => bail!("tensor {name}: this model has no tensor of that name"),
        }
    }

    fn value_for(&self, name: &str, expected: &[usize], map: &HashMap<String, Tensor>) -> Result<Tensor> {
        // Files are read into the memory of the CPU.
        let own = |t: Tensor| t.to_dtype(self.dtype())?.to_device(&self.device());
        let value = own(fetch(name, expected, map)?)?;
        match folded_bias(name).filter(|bias| map.contains_key(bias)) {
            Some(bias) => Ok((value - own(fetch(&bias, expected, map)?)?)?),
            None => Ok(value),
        }
    }
}

/// `NAME.bias` for `NAME.bn.running_mean`: bn(x·wᵀ + b) with mean μ is bn(x·wᵀ) with mean μ − b.
fn folded_bias(buffer: &str) -> Option<String> {
    let layer = buffer.strip_suffix(".bn.running_mean")?;
    Some(format!("{layer}.bias"))
}

fn fetch(name: &str, expected: &[usize], map: &HashMap<String, Tensor>) -> Result<Tensor> {
    let tensor = map
        .get(name)
        .with_context(|| format!("tensor {name} is missing, expected shape {expected:?}"))?;
    let tensor = match *tensor.dims() {
        [_, _, 1] if expected.len() == 2 => tensor.squeeze(2)?,
        _ => tensor.clone(),
    };
    ensure!(
        tensor.dims() == expected,
        "tensor {name}: expected shape {expected:?}, got {:?}",
        tensor.dims()
    );
    Ok(tensor)
}

fn describe(config: &PointNetConfig) -> String {
    let mut text = format!("{} PointNet of {} classes", config.kind, config.classes);
    if config.inputs != 3 {
        text += &format!(", {} channels a point", config.inputs);
    }
    if config.categories != 0 {
        text += &format!(", {} categories", config.categories);
    }
    if config.width != 1 {
        text += &format!(", its widths divided by {}", config.width);
    }
    text
}
