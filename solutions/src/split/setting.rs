//! What is trained, and over which ranks.

use std::ops::Range;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::{LayerShape, Mesh, Network, Position, Schedule, Slot, layer::Rows};
use crate::parallel::chunk;

/// A network, its batch, and the mesh of ranks that train it.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The network.
    pub network: Network,
    /// The ranks.
    pub mesh: Mesh,
    /// The order of the micro-batches in a pipeline.
    pub schedule: Schedule,
    /// Stages of each rank; 1, unless the schedule is interleaved.
    pub chunks: usize,
    /// Micro-batches of a step, for each of the mesh's data ranks.
    pub micro_batches: usize,
    /// Clouds of a micro-batch. Batch norm sees one micro-batch at a time.
    pub clouds: usize,
    /// Points of a cloud.
    pub points: usize,
    /// Seeds the weights.
    pub seed: u64,
}

/// What one rank has of a [`Setting`].
pub struct Share {
    /// Its position in the mesh.
    pub position: Position,
    /// The layers of each stage of the pipeline, over all ranks.
    pub stages: Vec<Vec<LayerShape>>,
    /// Its rows of a micro-batch.
    pub rows: Rows,
    /// Its points of each cloud.
    pub points: Range<usize>,
    tensor: usize,
}

impl Setting {
    /// Checks the numbers.
    ///
    /// # Errors
    /// Returns an error that names the first number that does not fit, and what to do.
    pub fn validate(&self) -> Result<()> {
        let Self { mesh, network, .. } = self;
        let widths = network.over_points.iter().chain(&network.over_clouds);
        let least = widths.copied().chain([network.inputs, network.classes]).min();
        ensure!(
            least.is_some_and(|w| w >= 1) && !network.over_points.is_empty(),
            "every layer needs at least one output, and there must be a layer over the points"
        );
        for (name, value) in [
            ("tensor", mesh.tensor),
            ("sequence", mesh.sequence),
            ("data", mesh.data),
            ("pipeline", mesh.pipeline),
            ("chunks", self.chunks),
            ("micro-batches", self.micro_batches),
        ] {
            ensure!(value >= 1, "{name} is 0: it must be at least 1");
        }
        ensure!(
            mesh.ranks() <= 64,
            "the mesh has {} ranks: at most 64 are supported",
            mesh.ranks()
        );
        ensure!(
            self.clouds >= 2,
            "a micro-batch has {} clouds: batch norm needs at least 2",
            self.clouds
        );
        ensure!(
            self.points >= mesh.sequence,
            "a cloud of {} points cannot be split over {} ranks",
            self.points,
            mesh.sequence
        );
        let narrow = network
            .layers()
            .into_iter()
            .find(|l| l.own_outputs(0, mesh.tensor).is_empty());
        ensure!(
            narrow.is_none(),
            "layer {} has fewer outputs than the {} ranks that split it",
            narrow.map_or(0, |l| l.index),
            mesh.tensor
        );
        ensure!(
            self.chunks == 1 || self.schedule == Schedule::Interleaved,
            "only the interleaved schedule has several stages a rank, and chunks is {}",
            self.chunks
        );
        ensure!(
            self.schedule != Schedule::Interleaved || self.micro_batches.is_multiple_of(mesh.pipeline),
            "interleaved: the micro-batches, {}, must be a multiple of the pipeline's {} ranks",
            self.micro_batches,
            mesh.pipeline
        );
        network.cut(self.stages(), self.points).map(|_| ())
    }

    /// Stages of the pipeline, over all ranks.
    pub fn stages(&self) -> usize {
        self.mesh.pipeline * self.chunks
    }

    /// Clouds of a step, over all ranks.
    pub fn batch(&self) -> usize {
        self.clouds * self.micro_batches * self.mesh.data
    }

    /// The orders of all ranks of a pipeline.
    pub fn orders(&self) -> Vec<Vec<Slot>> {
        let order = |rank| {
            self.schedule
                .order(rank, self.mesh.pipeline, self.chunks, self.micro_batches)
        };
        (0..self.mesh.pipeline).map(order).collect()
    }

    /// What rank `rank` has.
    ///
    /// # Errors
    /// Returns an error if there are more stages than layers.
    pub fn share(&self, rank: usize) -> Result<Share> {
        let position = self.mesh.position(rank);
        let points = chunk(self.points, position.sequence, self.mesh.sequence);
        let layers = self.network.layers();
        let cut = self.network.cut(self.stages(), self.points)?;
        Ok(Share {
            position,
            stages: cut.into_iter().map(|range| layers[range].to_vec()).collect(),
            rows: Rows {
                clouds: self.clouds,
                points: points.len(),
                all_points: self.points,
            },
            points,
            tensor: self.mesh.tensor,
        })
    }
}

impl Share {
    /// Inputs and outputs of this rank's part of a layer.
    pub fn sizes(&self, layer: &LayerShape) -> (usize, usize) {
        let (rank, world) = (self.position.tensor, self.tensor);
        (
            layer.own_inputs(rank, world).len(),
            layer.own_outputs(rank, world).len(),
        )
    }

    /// Rows of this rank's input of a layer.
    pub fn rows_of(&self, layer: &LayerShape) -> usize {
        layer.rows(self.rows.clouds, self.rows.points)
    }

    /// How many numbers a stage sends to the next one for a micro-batch.
    pub fn numbers_after(&self, stage: usize) -> usize {
        let last = self.stages.get(stage).and_then(|layers| layers.last());
        last.map_or(0, |layer| {
            let rows = match layer.is_before_max {
                true => self.rows.clouds,
                false => self.rows_of(layer),
            };
            rows * self.sizes(layer).1
        })
    }
}
