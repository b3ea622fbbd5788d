//! The built-in trees, and a network of three layers whose parameters are lists of f32 numbers, so that they can be sharded.

use std::ops::Range;

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::train::{
    Config,
    short::{Forest, small},
};
use canopy_data::Philox;

/// Points of a tree, sorted by height, and their coordinates: what the network reads.
pub const POINTS: usize = 16;
const FEATURES: usize = 3 * POINTS;
/// Width of the hidden layers.
pub const HIDDEN: usize = 128;

/// The training trees.
pub struct Trees {
    /// `[trees, FEATURES]`.
    pub features: Tensor,
    /// `[trees, species]`: 1 for the species of the tree, 0 for the others.
    pub labels: Tensor,
}

impl Trees {
    pub fn open(seed: u64) -> Result<Self> {
        let still = Config {
            turn: false,
            jitter: 0.0,
            ..small(POINTS, seed)
        };
        let forest = Forest::open(still)?;
        let batch = forest.batch(&forest.split.train, 0)?;
        let (trees, species) = (batch.labels.len(), forest.data.species.len() as u32);
        let mut features = Vec::new();
        for cloud in batch.points.chunks(FEATURES) {
            let mut points: Vec<&[f32]> = cloud.chunks(3).collect();
            points.sort_by(|a, b| a[2].total_cmp(&b[2]));
            features.extend(points.concat());
        }
        let one_hot = |&label: &u32| (0..species).map(move |s| if s == label { 1f32 } else { 0.0 });
        let labels: Vec<f32> = batch.labels.iter().flat_map(one_hot).collect();
        Ok(Self {
            features: Tensor::from_vec(features, (trees, FEATURES), &Device::Cpu)?,
            labels: Tensor::from_vec(labels, (trees, species as usize), &Device::Cpu)?,
        })
    }
}

/// The shape of the network: inputs and outputs of each layer.
pub struct Network(pub [[usize; 2]; 3]);

impl Network {
    pub fn new(species: usize) -> Self {
        Self([[FEATURES, HIDDEN], [HIDDEN, HIDDEN], [HIDDEN, species]])
    }

    /// The parameters of layer `layer`, weights before biases, in the list of all.
    pub fn range(&self, layer: usize) -> Range<usize> {
        let size = |[inputs, outputs]: [usize; 2]| (inputs + 1) * outputs;
        let start = self.0[..layer].iter().map(|&d| size(d)).sum();
        start..start + size(self.0[layer])
    }

    /// Random weights, biases of 0.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut random = Philox::new(seed, 9);
        let mut params = vec![0.0; self.range(2).end];
        for (layer, [inputs, outputs]) in self.0.into_iter().enumerate() {
            let scale = (2.0 / inputs as f64).sqrt();
            let weights = &mut params[self.range(layer)][..inputs * outputs];
            weights.fill_with(|| (scale * random.normal()) as f32);
        }
        params
    }

    fn weights(&self, layer: usize, params: &[f32]) -> Result<(Tensor, Tensor)> {
        let [inputs, outputs] = self.0[layer];
        let (weights, biases) = params.split_at(inputs * outputs);
        let weights = Tensor::from_slice(weights, (outputs, inputs), &Device::Cpu)?;
        Ok((weights, Tensor::new(biases, &Device::Cpu)?))
    }

    /// The output of layer `layer` for the input `x`, with ReLU except for the last layer.
    pub fn forward(&self, layer: usize, params: &[f32], x: &Tensor) -> Result<Tensor> {
        let (weights, biases) = self.weights(layer, params)?;
        let y = x.matmul(&weights.t()?)?.broadcast_add(&biases)?;
        Ok(if layer < 2 { y.relu()? } else { y })
    }

    /// Returns the gradients of the parameters of layer `layer`, and replaces `gradient`, that of the layer's output `y`, by
    /// that of its input `x`.
    pub fn backward(
        &self,
        layer: usize,
        params: &[f32],
        (x, y): (&Tensor, &Tensor),
        gradient: &mut Tensor,
    ) -> Result<Vec<f32>> {
        if layer < 2 {
            // Where a ReLU returned 0, no gradient passes.
            *gradient = (&*gradient * y.gt(0f32)?.to_dtype(DType::F32)?)?;
        }
        let of_weights = gradient.t()?.matmul(x)?.flatten_all()?.to_vec1()?;
        let of_biases = gradient.sum(0)?.to_vec1()?;
        *gradient = gradient.matmul(&self.weights(layer, params)?.0)?;
        Ok([of_weights, of_biases].concat())
    }
}

/// Returns the mean cross-entropy of the logits, and its gradient.
pub fn loss(logits: &Tensor, labels: &Tensor) -> Result<(f64, Tensor)> {
    let rows = labels.dim(0)? as f64;
    let shifted = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
    let log_p = shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(1)?.log()?)?;
    let sum = (labels * &log_p)?.sum_all()?.to_scalar::<f32>()?;
    Ok((-f64::from(sum) / rows, ((log_p.exp()? - labels)? / rows)?))
}
