//! A trained PointNet, and trees that the reader changes (chapter 02).

use std::sync::LazyLock;

use half::f16;
use safetensors::SafeTensors;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Philox, json,
    kernels::neuron,
    loader::{jitter, normalise, random_sample, turn},
};

/// Written by `book/record pointnet`: the layers with their batch norm folded in, trees of the test set, and canopy's logits
/// of these.
static FILE: &[u8] = include_bytes!("../pointnet.safetensors");
/// Units of a stored coordinate in a metre.
const PER_METRE: f32 = 100.0;

static NETWORK: LazyLock<Network> = LazyLock::new(|| Network::read(FILE));

/// A linear layer: `weight` is `[out, in]`.
struct Layer {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Layer {
    /// `[rows, in]` to `[rows, out]`.
    fn forward(&self, x: &[f32], activation: fn(f32) -> f32) -> Vec<f32> {
        let inputs = self.weight.len() / self.bias.len();
        let mut y = Vec::with_capacity(x.len() / inputs * self.bias.len());
        for row in x.chunks_exact(inputs) {
            let neurons = self.weight.chunks_exact(inputs).zip(&self.bias);
            y.extend(neurons.map(|(weights, &bias)| neuron(row, weights, bias, activation)));
        }
        y
    }
}

fn relu(y: f32) -> f32 {
    y.max(0.0)
}

struct Network {
    /// Of each point.
    mlp: Vec<Layer>,
    /// Of the cloud.
    head: Vec<Layer>,
    classifier: Layer,
    species: Vec<String>,
    /// The points of each tree, in metres, and its species.
    trees: Vec<(Vec<[f32; 3]>, u8)>,
}

impl Network {
    fn read(bytes: &[u8]) -> Self {
        let file = SafeTensors::deserialize(bytes).expect("the file is a safetensors file");
        let (_, header) = SafeTensors::read_metadata(bytes).expect("the file has a header");
        let numbers = |name: &str| {
            let pairs = file
                .tensor(name)
                .expect("the file has this tensor")
                .data()
                .as_chunks();
            pairs
                .0
                .iter()
                .map(|&pair| f16::from_le_bytes(pair).to_f32())
                .collect()
        };
        let layer = |name: String| Layer {
            weight: numbers(&format!("{name}.weight")),
            bias: numbers(&format!("{name}.bias")),
        };
        let trees = file.tensor("trees").expect("the file has trees");
        let coordinates: Vec<f32> = (trees.data().as_chunks().0.iter())
            .map(|&pair| f32::from(i16::from_le_bytes(pair)) / PER_METRE)
            .collect();
        let labels = file.tensor("labels").expect("the file has labels");
        let species = header.metadata().as_ref().and_then(|about| about.get("species"));
        Self {
            mlp: (0..5).map(|i| layer(format!("mlp.{i}"))).collect(),
            head: (0..2).map(|i| layer(format!("head.{i}"))).collect(),
            classifier: layer("classifier".into()),
            species: species
                .expect("the file names the species")
                .split(',')
                .map(str::to_owned)
                .collect(),
            trees: (coordinates.as_chunks().0.chunks(trees.shape()[1]))
                .map(<[_]>::to_vec)
                .zip(labels.data().iter().copied())
                .collect(),
        }
    }

    /// Returns the logits of a cloud, and its critical points in order.
    fn forward(&self, points: &[[f32; 3]]) -> (Vec<f32>, Vec<usize>) {
        let point = points.as_flattened().to_vec();
        let values = self.mlp.iter().fold(point, |x, layer| layer.forward(&x, relu));
        // A channel without a value above 0 has no winner.
        let mut pooled = vec![0.0; values.len() / points.len()];
        let mut winners = vec![None; pooled.len()];
        for (i, row) in values.chunks_exact(pooled.len()).enumerate() {
            for (channel, &value) in row.iter().enumerate() {
                if value > pooled[channel] {
                    (pooled[channel], winners[channel]) = (value, Some(i));
                }
            }
        }
        let mut critical: Vec<usize> = winners.into_iter().flatten().collect();
        critical.sort_unstable();
        critical.dedup();
        let hidden = self.head.iter().fold(pooled, |x, layer| layer.forward(&x, relu));
        (self.classifier.forward(&hidden, |y| y), critical)
    }
}

/// A changed tree, and what the network returns for it.
#[derive(Serialize)]
struct Scene<'a> {
    /// As the network gets them.
    points: Vec<[f32; 3]>,
    critical: Vec<usize>,
    species: &'a [String],
    label: u8,
    /// The number of trees.
    trees: usize,
    probabilities: Vec<f64>,
}

/// Returns tree number `tree`, turned about the trunk and tilted by degrees, with noise of `noise` metres and `keep` of its
/// points. If `order` is not 0, they are shuffled; with `only_critical`, the points that win no channel are removed.
#[wasm_bindgen]
pub fn pointnet(
    tree: usize,
    turned: f64,
    tilted: f64,
    noise: f32,
    keep: usize,
    order: u32,
    only_critical: bool,
) -> String {
    json(&scene(tree, [turned, tilted], noise, keep, order, only_critical))
}

fn scene(
    tree: usize,
    [turned, tilted]: [f64; 2],
    noise: f32,
    keep: usize,
    order: u32,
    only_critical: bool,
) -> Scene<'static> {
    let (points, label) = &NETWORK.trees[tree % NETWORK.trees.len()];
    let random = |stream| Philox::new(tree as u64, stream);
    let mut points = points.clone();
    turn(&mut points, turned.to_radians());
    tilt(&mut points, tilted.to_radians());
    jitter(&mut points, noise, &mut random(0));
    points = random_sample(&points, keep.clamp(1, points.len()), &mut random(1));
    normalise(&mut points);
    if order > 0 {
        random(1 + u64::from(order)).shuffle(&mut points);
    }
    let (mut logits, mut critical) = NETWORK.forward(&points);
    if only_critical {
        points = critical.iter().map(|&i| points[i]).collect();
        (logits, critical) = NETWORK.forward(&points);
    }
    Scene {
        points,
        critical,
        species: &NETWORK.species,
        label: *label,
        trees: NETWORK.trees.len(),
        probabilities: softmax(&logits),
    }
}

/// Rotates `points` about the x axis, so that the trunk is no longer upright.
fn tilt(points: &mut [[f32; 3]], angle: f64) {
    let (sin, cos) = (libm::sin(angle) as f32, libm::cos(angle) as f32);
    for p in points {
        *p = [p[0], cos * p[1] - sin * p[2], sin * p[1] + cos * p[2]];
    }
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|l| libm::exp(f64::from(l - largest))).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unchanged(tree: usize) -> Scene<'static> {
        scene(tree, [0.0, 0.0], 0.0, usize::MAX, 0, false)
    }

    #[test]
    fn the_probabilities_are_those_of_canopys_forward_pass() {
        let file = SafeTensors::deserialize(FILE).unwrap();
        let bytes = file.tensor("logits").unwrap();
        let logits: Vec<f32> = bytes
            .data()
            .as_chunks()
            .0
            .iter()
            .map(|&b| f32::from_le_bytes(b))
            .collect();
        let rows = logits.chunks(NETWORK.species.len());
        assert_eq!(rows.len(), NETWORK.trees.len());
        for (tree, row) in rows.enumerate() {
            // The weights are stored in fp16.
            for (p, expected) in unchanged(tree).probabilities.iter().zip(softmax(row)) {
                assert!(
                    (p - expected).abs() < 2e-3,
                    "tree {tree}: {p} instead of {expected}"
                );
            }
        }
    }

    #[test]
    fn neither_order_nor_points_that_are_not_critical_change_the_probabilities() {
        for tree in 0..NETWORK.trees.len() {
            let all = unchanged(tree);
            let shuffled = scene(tree, [0.0, 0.0], 0.0, usize::MAX, 7, false);
            assert_ne!(shuffled.points, all.points);
            assert_eq!(shuffled.probabilities, all.probabilities);
            let critical = scene(tree, [0.0, 0.0], 0.0, usize::MAX, 0, true);
            assert_eq!(critical.points.len(), all.critical.len());
            assert!(critical.points.len() < all.points.len());
            assert_eq!(critical.probabilities, all.probabilities);
        }
    }

    #[test]
    fn tilt_noise_and_fewer_points_change_the_probabilities() {
        let before = unchanged(0).probabilities;
        let changes = [
            scene(0, [90.0, 0.0], 0.0, usize::MAX, 0, false),
            scene(0, [0.0, 45.0], 0.0, usize::MAX, 0, false),
            scene(0, [0.0, 0.0], 1.0, usize::MAX, 0, false),
            scene(0, [0.0, 0.0], 0.0, 64, 0, false),
        ];
        for change in changes {
            assert_ne!(change.probabilities, before);
        }
        assert_eq!(scene(0, [0.0, 0.0], 0.0, 0, 0, true).points.len(), 1);
    }
}
