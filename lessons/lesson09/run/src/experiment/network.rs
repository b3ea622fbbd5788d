//! A network of three layers whose parameters are lists of f32 numbers.

use std::ops::Range;

use canopy_data::Philox;

use super::trees::FEATURES;

/// Width of the hidden layers.
pub const HIDDEN: usize = 128;

/// The shape of the network: inputs and outputs of each layer.
#[derive(Clone)]
pub struct Network {
    dims: Vec<[usize; 2]>,
}

/// What a forward pass leaves for the backward pass: the input of each layer, and the output of the last.
pub type Activations = Vec<Vec<f32>>;

impl Network {
    pub fn new(classes: usize) -> Self {
        Self {
            dims: vec![[FEATURES, HIDDEN], [HIDDEN, HIDDEN], [HIDDEN, classes]],
        }
    }

    pub fn layers(&self) -> usize {
        self.dims.len()
    }

    /// The parameters of layer `layer`, weights before biases, in the list of all.
    pub fn range(&self, layer: usize) -> Range<usize> {
        let size = |[inputs, outputs]: [usize; 2]| (inputs + 1) * outputs;
        let start = self.dims[..layer].iter().map(|&d| size(d)).sum();
        start..start + size(self.dims[layer])
    }

    /// Elements of each parameter.
    pub fn sizes(&self) -> Vec<usize> {
        let two = |&[inputs, outputs]: &[usize; 2]| [inputs * outputs, outputs];
        self.dims.iter().flat_map(two).collect()
    }

    /// Random weights, biases of 0.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut random = Philox::new(seed, 9);
        let mut params = Vec::new();
        for &[inputs, outputs] in &self.dims {
            let scale = (2.0 / inputs as f64).sqrt();
            params.extend((0..inputs * outputs).map(|_| (scale * random.normal()) as f32));
            params.resize(params.len() + outputs, 0.0);
        }
        // What is kept is counted by the room in the lists.
        params.shrink_to_fit();
        params
    }

    /// Runs layer `layer` on its input, the last of `activations`, and adds its output, with ReLU except for the last
    /// layer.
    pub fn forward(&self, layer: usize, params: &[f32], activations: &mut Activations) {
        let [inputs, outputs] = self.dims[layer];
        let (weights, biases) = params.split_at(inputs * outputs);
        let mut out = Vec::new();
        for row in activations[layer].chunks(inputs) {
            let from = out.len();
            out.extend_from_slice(biases);
            for (x, weights) in row.iter().zip(weights.chunks(outputs)) {
                let sums = out[from..].iter_mut();
                sums.zip(weights).for_each(|(sum, w)| *sum += x * w);
            }
        }
        if layer + 1 < self.layers() {
            out.iter_mut().for_each(|v| *v = v.max(0.0));
        }
        activations.push(out);
    }

    /// Returns the gradients of the parameters of layer `layer`, and replaces `gradient`, that of the layer's output, by
    /// that of its input.
    pub fn backward(
        &self,
        layer: usize,
        params: &[f32],
        activations: &Activations,
        gradient: &mut Vec<f32>,
    ) -> Vec<f32> {
        let [inputs, outputs] = self.dims[layer];
        let mut of_params = vec![0.0; params.len()];
        let (of_weights, of_biases) = of_params.split_at_mut(inputs * outputs);
        let mut of_input = Vec::with_capacity(activations[layer].len());
        for (row, g) in activations[layer].chunks(inputs).zip(gradient.chunks(outputs)) {
            of_biases.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
            let weights = params.chunks(outputs).zip(of_weights.chunks_mut(outputs));
            for (x, (weights, of_weights)) in row.iter().zip(weights) {
                of_weights.iter_mut().zip(g).for_each(|(sum, g)| *sum += x * g);
                // Behind a ReLU, an input of 0 has no gradient.
                let passes = layer == 0 || *x > 0.0;
                let sum: f32 = weights.iter().zip(g).map(|(w, g)| w * g).sum();
                of_input.push(if passes { sum } else { 0.0 });
            }
        }
        *gradient = of_input;
        of_params
    }
}

/// Returns the mean cross-entropy of the logits, and its gradient.
pub fn loss(logits: &[f32], labels: &[u32]) -> (f64, Vec<f32>) {
    let (rows, classes) = (labels.len(), logits.len() / labels.len().max(1));
    let (mut total, mut gradient) = (0.0, Vec::with_capacity(logits.len()));
    for (row, &label) in logits.chunks(classes).zip(labels) {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exp: Vec<f32> = row.iter().map(|v| (v - most).exp()).collect();
        let sum: f32 = exp.iter().sum();
        total += f64::from(sum.ln() + most - row[label as usize]);
        let one = |i: usize| if i == label as usize { 1.0 } else { 0.0 };
        gradient.extend(
            exp.iter()
                .enumerate()
                .map(|(i, e)| (e / sum - one(i)) / rows as f32),
        );
    }
    (total / rows as f64, gradient)
}
