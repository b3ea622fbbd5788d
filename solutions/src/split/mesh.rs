//! The ranks as a mesh: which ranks share what.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::parallel::{Collective, Link, Shared, SubGroup, Traffic};

/// How many ranks share each thing. Ranks that split a tensor are neighbours, because they send most: on a cluster they are
/// in one node. Stages of a pipeline are furthest apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mesh {
    /// Ranks that split the numbers of a layer.
    pub tensor: usize,
    /// Ranks that split the points of a cloud.
    pub sequence: usize,
    /// Ranks with micro-batches of their own.
    pub data: usize,
    /// Ranks that split the layers.
    pub pipeline: usize,
}

impl Mesh {
    /// One rank.
    pub const ONE: Self = Self {
        tensor: 1,
        sequence: 1,
        data: 1,
        pipeline: 1,
    };

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.sizes().iter().product()
    }

    /// The position of rank `rank`.
    pub fn position(&self, rank: usize) -> Position {
        let [tensor, sequence, data, pipeline] =
            [0, 1, 2, 3].map(|axis| rank / self.stride(axis) % self.sizes()[axis]);
        Position {
            tensor,
            sequence,
            data,
            pipeline,
        }
    }

    fn sizes(&self) -> [usize; 4] {
        [self.tensor, self.sequence, self.data, self.pipeline]
    }

    fn stride(&self, axis: usize) -> usize {
        self.sizes()[..axis].iter().product()
    }

    /// The ranks that differ from `rank` along one axis only.
    fn members(&self, rank: usize, axis: usize) -> Vec<usize> {
        let (size, stride) = (self.sizes()[axis], self.stride(axis));
        let first = rank - rank / stride % size * stride;
        (0..size).map(|i| first + i * stride).collect()
    }
}

/// Coordinates of a rank in a [`Mesh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which part of each layer it has.
    pub tensor: usize,
    /// Which points of each cloud.
    pub sequence: usize,
    /// Which micro-batches.
    pub data: usize,
    /// Which layers.
    pub pipeline: usize,
}

/// One rank's groups, one for each axis of a [`Mesh`].
pub struct Groups {
    /// The ranks with the other parts of its layers.
    pub tensor: SubGroup,
    /// The ranks with the other points of its clouds.
    pub sequence: SubGroup,
    /// The ranks with other micro-batches.
    pub data: SubGroup,
    /// The ranks with the other layers.
    pub pipeline: SubGroup,
}

impl Groups {
    /// Creates the groups of the rank `whole` of a mesh.
    ///
    /// # Errors
    /// Returns an error if the mesh has another number of ranks than the whole group.
    pub fn new(mesh: &Mesh, whole: Box<dyn Collective>) -> Result<Self> {
        let (rank, world) = (whole.rank(), whole.world_size());
        ensure!(
            mesh.ranks() == world,
            "a mesh of tensor {} × sequence {} × data {} × pipeline {} needs {} ranks, but there are {world}",
            mesh.tensor,
            mesh.sequence,
            mesh.data,
            mesh.pipeline,
            mesh.ranks()
        );
        let whole: Shared = Arc::new(Mutex::new(whole));
        let along = |axis| SubGroup::new(&whole, mesh.members(rank, axis));
        Ok(Self {
            tensor: along(0)?,
            sequence: along(1)?,
            data: along(2)?,
            pipeline: along(3)?,
        })
    }

    pub(super) fn tensor_ranks(&self) -> usize {
        self.tensor.world_size()
    }

    /// The ranks over which a layer's rows are split, if there are several.
    pub(super) fn of_rows(&self, over_points: bool) -> Option<&dyn Collective> {
        let is_split = over_points && self.sequence.world_size() > 1;
        is_split.then_some(&self.sequence)
    }

    /// What this rank has sent along each axis.
    pub fn traffic(&self) -> Sent {
        Sent {
            tensor: self.tensor.traffic(),
            sequence: self.sequence.traffic(),
            data: self.data.traffic(),
            pipeline: self.pipeline.traffic(),
        }
    }
}

/// What a rank sends along each axis of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// All-reduces of activations and of their gradients.
    pub tensor: Traffic,
    /// Sums of batch norm, maxima, and gradients of the layers over points.
    pub sequence: Traffic,
    /// Gradients.
    pub data: Traffic,
    /// Activations and their gradients from stage to stage.
    pub pipeline: Traffic,
}

impl Sent {
    /// What was sent after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            tensor: self.tensor - before.tensor,
            sequence: self.sequence - before.sequence,
            data: self.data - before.data,
            pipeline: self.pipeline - before.pipeline,
        }
    }

    /// The axes with their names.
    pub fn axes(&self) -> [(&'static str, Traffic); 4] {
        [
            ("tensor", self.tensor),
            ("sequence", self.sequence),
            ("data", self.data),
            ("pipeline", self.pipeline),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_an_axis_partition_the_ranks() {
        let mesh = Mesh {
            tensor: 2,
            sequence: 1,
            data: 3,
            pipeline: 2,
        };
        assert_eq!(mesh.ranks(), 12);
        assert_eq!(mesh.members(3, 0), [2, 3]);
        assert_eq!(mesh.members(3, 1), [3]);
        assert_eq!(mesh.members(3, 2), [1, 3, 5]);
        assert_eq!(mesh.members(3, 3), [3, 9]);
        let p = mesh.position(11);
        assert_eq!((p.tensor, p.sequence, p.data, p.pipeline), (1, 0, 2, 1));
        for axis in 0..4 {
            for rank in 0..12 {
                let members = mesh.members(rank, axis);
                assert!(members.contains(&rank));
                assert!(members.iter().all(|&m| mesh.members(m, axis) == members));
            }
        }
    }
}
