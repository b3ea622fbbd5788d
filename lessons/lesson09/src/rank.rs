//! A rank of a group in which a call fails.

use anyhow::{Result, ensure};
use canopy::parallel::{Collective, Link, Traffic};
use kit::End;

/// A rank, and the call that returns an error on every rank. A collective that fails sends nothing. Empty: none fails.
pub struct Rank<'a>(pub &'a End, pub &'static str);

impl Rank<'_> {
    /// The error of `call`, if it fails.
    pub fn well(&self, call: &str) -> Result<&End> {
        ensure!(self.1 != call, "the error of {call}");
        Ok(self.0)
    }
}

impl Link for Rank<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn world_size(&self) -> usize {
        self.0.world_size()
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        self.0.send(to, data)
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        self.0.receive(from, into)
    }
}

impl Collective for Rank<'_> {
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        self.well("all_reduce")?.all_reduce(data)
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        self.well("reduce_scatter")?.reduce_scatter(data, mine)
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        self.well("all_gather")?.all_gather(mine, whole)
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        self.0.broadcast(root, data)
    }

    fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }

    fn traffic(&self) -> Traffic {
        self.0.traffic()
    }
}
