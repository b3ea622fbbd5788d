//! Measures all-reduces over MPI: the engine's, MPI called directly, and lesson 08's ring and tree over MPI's messages.

use std::time::Instant;

use anyhow::{Context, Result};
use ferrompi::ReduceOp;

use super::Session;
use crate::parallel::{Collective, Link, measure::median, ring_all_reduce, tree_all_reduce};

/// Times of an all-reduce, in seconds: from a barrier until this rank has the sum.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// By the engine.
    pub engine: f64,
    /// By MPI's blocking call, from one buffer into another.
    pub direct: f64,
    /// By [`ring_all_reduce`].
    pub ring: f64,
    /// By [`tree_all_reduce`].
    pub tree: f64,
}

/// The messages of a collective, for an algorithm over links.
struct Messages<'a>(&'a dyn Collective);

impl Link for Messages<'_> {
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

impl Session {
    /// Measures all-reduces of `numbers` numbers over all ranks, the median of `repeats`. Every rank makes the same call. The
    /// four take turns, so that other work on the machine slows all of them.
    ///
    /// # Errors
    /// Returns an error if a call of MPI fails.
    pub fn all_reduce_seconds(
        &self,
        links: &dyn Collective,
        numbers: usize,
        repeats: usize,
    ) -> Result<Seconds> {
        let world = self.mpi.world();
        let (mut data, mut into) = (vec![1.0; numbers], vec![0.0; numbers]);
        let mut times = [const { Vec::new() }; 4];
        // The first turn warms up and is not counted.
        for turn in 0..=repeats {
            for (which, times) in times.iter_mut().enumerate() {
                data.fill(1.0);
                links.barrier()?;
                let began = Instant::now();
                match which {
                    0 => links.all_reduce(&mut data)?,
                    1 => {
                        let call = || world.allreduce(&data, &mut into, ReduceOp::Sum);
                        self.shared.call(call).context("MPI's all-reduce failed")?;
                    }
                    2 => ring_all_reduce(&Messages(links), &mut data)?,
                    _ => tree_all_reduce(&Messages(links), &mut data)?,
                }
                if turn > 0 {
                    times.push(began.elapsed().as_secs_f64());
                }
            }
        }
        let [engine, direct, ring, tree] = times.map(|times| median(&times));
        Ok(Seconds {
            engine,
            direct,
            ring,
            tree,
        })
    }
}
