//! The options of commands that split a model over ranks.

use anyhow::{Result, ensure};

use crate::{
    split::{Bytes, Mesh, Network, Schedule, Setting},
    train::{choice, machine::mib},
};

/// The headings of a table of [`memory`].
pub const MEMORY: &str = "MiB       parameters  gradients  optimizer  activations";

/// What a rank keeps, in MiB, as the first columns of a row.
pub fn memory(rank: usize, bytes: Bytes) -> String {
    let [parameters, gradients, optimizer, activations] = [
        bytes.parameters,
        bytes.gradients,
        bytes.optimizer,
        bytes.activations,
    ]
    .map(mib);
    format!("rank {rank:<4}{parameters:>11.2}{gradients:>11.2}{optimizer:>11.2}{activations:>13.2}")
}

/// How a model is split.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Multiply the widths of PointNet's layers by N
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub width_times: usize,
    /// Outputs of the layers over points, instead of PointNet's 64,128,1024
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    pub over_points: Vec<usize>,
    /// Outputs of the layers over clouds, instead of PointNet's 512,256
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    pub over_clouds: Vec<usize>,
    /// Ranks that split the numbers of each layer (tensor parallelism)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub tensor: usize,
    /// Ranks that split the points of each cloud (sequence parallelism)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub sequence: usize,
    /// Ranks with micro-batches of their own (data parallelism)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub data: usize,
    /// Ranks that split the layers (pipeline parallelism)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub pipeline: usize,
    /// Order of the micro-batches in the pipeline
    #[arg(long, default_value = "1f1b", value_parser = choice::<Schedule>(&["gpipe", "1f1b", "interleaved"]))]
    pub schedule: Schedule,
    /// Stages of each rank, with the interleaved schedule [default: 2 if it is interleaved]
    #[arg(long, value_name = "N")]
    pub chunks: Option<usize>,
    /// Micro-batches of a step, for each data rank
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub micro_batches: usize,
}

impl Args {
    /// Whether a split was asked for.
    pub fn wanted(&self) -> bool {
        let is_other_network = !self.over_points.is_empty() || !self.over_clouds.is_empty();
        self.mesh() != Mesh::ONE || self.width_times != 1 || is_other_network
    }

    /// The ranks.
    pub fn mesh(&self) -> Mesh {
        Mesh {
            tensor: self.tensor,
            sequence: self.sequence,
            data: self.data,
            pipeline: self.pipeline,
        }
    }

    /// The setting, with micro-batches of `clouds` clouds of `points` points, and `classes` classes.
    ///
    /// # Errors
    /// Returns an error if the numbers do not fit together.
    pub fn setting(&self, clouds: usize, points: usize, classes: usize) -> Result<Setting> {
        ensure!(self.width_times >= 1, "--width-times is 0: it must be at least 1");
        let mut network = Network::pointnet(self.width_times, classes);
        if !self.over_points.is_empty() {
            network.over_points.clone_from(&self.over_points);
        }
        if !self.over_clouds.is_empty() {
            network.over_clouds.clone_from(&self.over_clouds);
        }
        let by_schedule = if self.schedule == Schedule::Interleaved {
            2
        } else {
            1
        };
        let setting = Setting {
            network,
            mesh: self.mesh(),
            schedule: self.schedule,
            chunks: self.chunks.unwrap_or(by_schedule),
            micro_batches: self.micro_batches,
            clouds,
            points,
            seed: 1,
        };
        setting.validate()?;
        Ok(setting)
    }
}
