//! `canopy plan --ranks --nodes`: which kind of parallelism to use on a cluster, and why.

use anyhow::{Result, ensure};
use serde::Serialize;

use super::ranks;
use crate::split::{self, Choice, Machine};

/// Options that describe a cluster.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Nodes over which the ranks are spread: choose between data parallelism, ZeRO, tensor parallelism and a pipeline
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Bandwidth between ranks of a node, GB/s
    #[arg(long, value_name = "GB/S", default_value_t = 300.0)]
    inside: f64,
    /// Bandwidth between nodes, GB/s
    #[arg(long, value_name = "GB/S", default_value_t = 25.0)]
    between: f64,
    /// Layers of the model, of equal size [default: canopy's own]
    #[arg(long, value_name = "N")]
    layers: Option<u64>,
}

/// The choice and its reason.
#[derive(Debug, Serialize)]
pub struct Chosen {
    choice: Choice,
    reason: String,
}

impl Args {
    /// Chooses for `work` on `ranks` ranks, with a batch of `batch` samples of which each rank has an equal share;
    /// `None` if no nodes were given.
    ///
    /// # Errors
    /// Returns an error if a number is out of range.
    pub fn choose(
        &self,
        work: &ranks::Work,
        ranks: &ranks::Args,
        batch: u64,
        layers: u64,
    ) -> Result<Option<Chosen>> {
        let Some(nodes) = self.nodes else {
            return Ok(None);
        };
        ensure!(
            ranks.wanted(),
            "--nodes {nodes} needs --ranks, the number of all ranks"
        );
        let ranks = ranks.count();
        ensure!(
            nodes >= 1 && ranks.is_multiple_of(nodes),
            "--nodes {nodes}: {ranks} ranks cannot be divided equally over them"
        );
        for (name, value) in [("inside", self.inside), ("between", self.between)] {
            ensure!(
                value.is_finite() && value > 0.0,
                "--{name} is {value}: it must be above 0"
            );
        }
        let layers = self.layers.unwrap_or(layers);
        ensure!(layers >= 1, "--layers is 0: it must be at least 1");
        let machine = Machine {
            nodes,
            ranks_per_node: ranks / nodes,
            memory: work.budget,
            inside: self.inside * 1e9,
            between: self.between * 1e9,
        };
        let work = split::Work {
            parameters: work.parameters,
            each: work.each,
            activations: work.activations.div_ceil(batch.max(1)).max(1),
            layers,
            batch: batch * ranks,
        };
        let choice = split::choose(&work, &machine);
        let reason = choice.reason(&work, &machine);
        Ok(Some(Chosen { choice, reason }))
    }
}

impl Chosen {
    /// The choice and its reason, in words.
    pub fn advice(&self) -> String {
        format!("On this cluster: {}.\n{}", self.choice, self.reason)
    }
}
