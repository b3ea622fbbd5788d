//! What the process of each rank has allocated, measured beside what is counted.

use std::collections::HashMap;

use anyhow::Result;
use candle_core::Tensor;

use crate::{kernels, optim::Optimizer, train::memory};

/// Bytes that the processes of a run have allocated, as their allocators count them ([`memory::held`]): the least and the most of
/// the ranks. A rank's number is its largest of all steps. Data and buffers are included, except for the operators' buffers that wait
/// for the next step; blocks below 16 KiB are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// After a step, when its gradients are freed.
    pub between: [u64; 2],
    /// When the optimizer has stepped, and the gradients still exist.
    pub stepping: [u64; 2],
}

/// The measurements of this process: [`Allocated::between`] and [`Allocated::stepping`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    pub between: u64,
    pub stepping: u64,
}

/// What this process has allocated now; 0 if it does not count that.
fn now() -> u64 {
    memory::held().unwrap_or(0).saturating_sub(kernels::idle_bytes())
}

impl Own {
    /// Measures after a step.
    pub fn after_step(&mut self) {
        self.between = self.between.max(now());
    }
}

impl Allocated {
    /// The least and the most of all ranks; `None` if a process is not measured.
    pub fn of_ranks(ranks: &[Own]) -> Option<Self> {
        let ends = |of: fn(&Own) -> u64| Some([ranks.iter().map(of).min()?, ranks.iter().map(of).max()?]);
        let [between, stepping] = [ends(|own| own.between)?, ends(|own| own.stepping)?];
        (between[0] > 0).then_some(Self { between, stepping })
    }

    /// Returns a summary for users.
    pub fn line(&self) -> String {
        let mb =
            |[least, most]: [u64; 2]| format!("{:.2} to {:.2} MB", least as f64 / 1e6, most as f64 / 1e6);
        format!(
            "allocated by the processes of the ranks, with data and the buffers in use, without blocks below 16 KiB: {} when the \
             optimizer steps, {} between steps",
            mb(self.stepping),
            mb(self.between)
        )
    }
}

/// An optimizer that measures after each of its steps.
pub struct Watched<'a> {
    pub inner: &'a mut dyn Optimizer,
    /// `None` if this process is not measured.
    pub own: Option<&'a mut Own>,
}

impl Optimizer for Watched<'_> {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        self.inner.step(grads, lr)?;
        if let Some(own) = &mut self.own {
            own.stepping = own.stepping.max(now());
        }
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.inner.state()
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.inner.load_state(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_most_of_the_ranks_are_found() {
        let own = |between, stepping| Own { between, stepping };
        let ranks = [own(3 << 40 | 5, 7), own(1 << 33, u64::from(u32::MAX)), own(9, 8)];
        let found = Allocated::of_ranks(&ranks).unwrap();
        assert_eq!(found.between, [9, 3 << 40 | 5]);
        assert_eq!(found.stepping, [7, u64::from(u32::MAX)]);
        assert_eq!(Allocated::of_ranks(&[own(0, 0)]), None);
    }
}
