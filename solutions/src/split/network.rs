//! The network that is split: a vanilla PointNet of any widths, as a list of layers.

use std::ops::Range;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::parallel::chunk;

/// The widths of a network: an MLP for each point, the maximum over the points of a cloud, a head for each cloud. Every
/// layer but the last is linear, batch norm and ReLU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Channels of a point.
    pub inputs: usize,
    /// Outputs of the layers over the points. The maximum follows the last one.
    pub over_points: Vec<usize>,
    /// Outputs of the layers over the clouds, apart from the last.
    pub over_clouds: Vec<usize>,
    /// Outputs of the last layer.
    pub classes: usize,
}

impl Network {
    /// PointNet's widths, each multiplied by `times`.
    pub fn pointnet(times: usize, classes: usize) -> Self {
        let times = |widths: &[usize]| widths.iter().map(|w| w * times).collect();
        Self {
            inputs: 3,
            over_points: times(&[64, 128, 1024]),
            over_clouds: times(&[512, 256]),
            classes,
        }
    }

    /// The layers, in order, for `tensor` ranks that split their numbers: pairs of a layer split by columns and one split by
    /// rows, so that the numbers between the two are never gathered. A last layer without a partner is whole on every rank.
    pub fn layers(&self) -> Vec<LayerShape> {
        let points = self.over_points.len();
        let outputs = self.over_points.iter().chain(&self.over_clouds);
        let outputs: Vec<usize> = outputs.copied().chain([self.classes]).collect();
        let layer = |i: usize| LayerShape {
            index: i,
            inputs: if i == 0 { self.inputs } else { outputs[i - 1] },
            outputs: outputs[i],
            over_points: i < points,
            is_before_max: i + 1 == points,
            is_last: i + 1 == outputs.len(),
            split: match i % 2 {
                1 => Split::Rows,
                _ if i + 1 == outputs.len() => Split::Whole,
                _ => Split::Columns,
            },
        };
        (0..outputs.len()).map(layer).collect()
    }

    /// Cuts the layers into `parts` runs of consecutive layers, so that the most expensive run costs least, for clouds of
    /// `points` points.
    ///
    /// # Errors
    /// Returns an error if there are fewer layers than parts.
    pub fn cut(&self, parts: usize, points: usize) -> Result<Vec<Range<usize>>> {
        let layers = self.layers();
        ensure!(
            (1..=layers.len()).contains(&parts),
            "the network has {} layers and cannot be cut into {parts} stages: use fewer stages, or more layers",
            layers.len()
        );
        let costs: Vec<u64> = layers.iter().map(|l| l.cost(points)).collect();
        // best[n]: the cheapest cut of the layers 0..n into the parts so far, as its largest cost and its ends.
        let mut best: Vec<Option<(u64, Vec<usize>)>> = vec![None; layers.len() + 1];
        best[0] = Some((0, Vec::new()));
        for _ in 0..parts {
            let ending_at = |end: usize| {
                let ways = (0..end).filter_map(|start| {
                    let (largest, ends) = best[start].as_ref()?;
                    let cost = costs[start..end].iter().sum::<u64>().max(*largest);
                    Some((cost, [&ends[..], &[end]].concat()))
                });
                ways.min()
            };
            best = (0..=layers.len()).map(ending_at).collect();
        }
        let ends = best.pop().flatten().map(|(_, ends)| ends).unwrap_or_default();
        let starts = [0].into_iter().chain(ends.iter().copied());
        Ok(starts.zip(ends.iter().copied()).map(|(a, b)| a..b).collect())
    }
}

/// How the ranks of a tensor group share a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Each has all of it.
    Whole,
    /// Each computes its part of the outputs from all inputs.
    Columns,
    /// Each has its part of the inputs; the outputs are summed.
    Rows,
}

/// The shape of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerShape {
    /// Its number, from 0.
    pub index: usize,
    /// Inputs of the whole layer.
    pub inputs: usize,
    /// Outputs of the whole layer.
    pub outputs: usize,
    /// Whether a row is a point; otherwise it is a cloud.
    pub over_points: bool,
    /// Whether the maximum over the points follows.
    pub is_before_max: bool,
    /// Whether it is the last, without batch norm and ReLU.
    pub is_last: bool,
    /// How a tensor group shares it.
    pub split: Split,
}

/// Passes over a layer's outputs take about as long as this many multiply-adds for each output: batch norm and ReLU, forward
/// and backward. It only balances the stages.
const PASSES: u64 = 64;

impl LayerShape {
    /// The inputs of rank `rank` of a tensor group of `world` ranks.
    pub fn own_inputs(&self, rank: usize, world: usize) -> Range<usize> {
        match self.split {
            Split::Rows => chunk(self.inputs, rank, world),
            _ => 0..self.inputs,
        }
    }

    /// The outputs of rank `rank` of a tensor group of `world` ranks.
    pub fn own_outputs(&self, rank: usize, world: usize) -> Range<usize> {
        match self.split {
            Split::Columns => chunk(self.outputs, rank, world),
            _ => 0..self.outputs,
        }
    }

    /// Rows of `clouds` clouds of which this rank has `points` points each.
    pub fn rows(&self, clouds: usize, points: usize) -> usize {
        if self.over_points { clouds * points } else { clouds }
    }

    /// Cost of a cloud of `points` points, in multiply-adds.
    pub(super) fn cost(&self, points: usize) -> u64 {
        (self.rows(1, points) * self.outputs) as u64 * (self.inputs as u64 + PASSES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_alternate_and_fit_together() {
        let network = Network::pointnet(2, 5);
        let layers = network.layers();
        let splits: Vec<Split> = layers.iter().map(|l| l.split).collect();
        let pair = [Split::Columns, Split::Rows];
        assert_eq!(splits, [pair, pair, pair].concat());
        assert_eq!(layers[2].outputs, 2048);
        for two in layers.windows(2) {
            assert_eq!(two[0].outputs, two[1].inputs);
            assert_eq!(two[0].own_outputs(1, 3), two[1].own_inputs(1, 3));
        }
        let odd = Network {
            over_clouds: vec![9],
            ..network
        };
        assert_eq!(odd.layers().last().map(|l| l.split), Some(Split::Whole));
    }

    #[test]
    fn a_cut_balances_the_stages() {
        let network = Network {
            inputs: 64,
            over_points: vec![64; 8],
            over_clouds: vec![],
            classes: 2,
        };
        // The last layer costs nearly nothing.
        assert_eq!(network.cut(4, 100).unwrap(), [0..2, 2..4, 4..6, 6..9]);
        assert_eq!(network.cut(1, 100).unwrap()[0], 0..9);
        assert_eq!(network.cut(9, 100).unwrap().len(), 9);
        assert!(network.cut(10, 100).is_err() && network.cut(0, 100).is_err());
        let pointnet = Network::pointnet(1, 7);
        // Most of the work is in the widest layer.
        assert_eq!(pointnet.cut(2, 1024).unwrap(), [0..2, 2..6]);
    }
}
