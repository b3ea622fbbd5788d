//! Measures all-reduces over MPI: the engine's, MPI called directly, and a ring and a tree over MPI's messages.

use std::time::Instant;

use anyhow::{Context, Result};
use ferrompi::ReduceOp;

use super::Session;
use crate::parallel::{
    AllReduce, Collective,
    measure::{Messages, Seconds, median},
    tree_all_reduce,
};

impl Session {
    /// [`Processes::all_reduce_seconds`]. The four take turns, so that other work on the machine slows all of them.
    ///
    /// [`Processes::all_reduce_seconds`]: crate::parallel::Processes::all_reduce_seconds
    pub(super) fn time_all_reduces(
        &self,
        links: &dyn Collective,
        ring: &AllReduce,
        (numbers, repeats): (usize, usize),
    ) -> Result<Seconds> {
        let world = self.mpi.world();
        let mut data = vec![1.0; numbers];
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
                        let call = || world.allreduce_inplace(&mut data, ReduceOp::Sum);
                        self.shared.call(call).context("MPI's all-reduce failed")?;
                    }
                    2 => ring(&Messages(links), &mut data)?,
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
