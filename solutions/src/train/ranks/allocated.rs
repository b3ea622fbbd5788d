//! What the process of each rank has allocated, measured beside what is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{kernels, train::memory};

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
#[derive(Debug, Default)]
pub struct Meter([AtomicU64; 2]);

impl Meter {
    /// Measures after a step.
    pub fn after_step(&self) {
        self.measure(0);
    }

    /// Measures when the optimizer has stepped.
    pub fn stepped(&self) {
        self.measure(1);
    }

    fn measure(&self, which: usize) {
        // 0 if this process does not count what it allocates.
        let now = memory::held().unwrap_or(0).saturating_sub(kernels::idle_bytes());
        self.0[which].fetch_max(now, Ordering::Relaxed);
    }

    /// Returns the measurements so far.
    pub fn read(&self) -> [u64; 2] {
        self.0.each_ref().map(|bytes| bytes.load(Ordering::Relaxed))
    }
}

impl Allocated {
    /// The least and the most of the [measurements](Meter::read) of all ranks; `None` if a process is not measured.
    pub fn of_ranks(ranks: impl Iterator<Item = [u64; 2]> + Clone) -> Option<Self> {
        let ends = |which: usize| {
            let each = ranks.clone().map(move |own| own[which]);
            Some([each.clone().min()?, each.max()?])
        };
        let [between, stepping] = [ends(0)?, ends(1)?];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_most_of_the_ranks_are_found() {
        let ranks = [[3 << 40 | 5, 7], [1 << 33, u64::from(u32::MAX)], [9, 8]];
        let found = Allocated::of_ranks(ranks.into_iter()).unwrap();
        assert_eq!(found.between, [9, 3 << 40 | 5]);
        assert_eq!(found.stepping, [7, u64::from(u32::MAX)]);
        assert_eq!(Allocated::of_ranks([[0, 0]].into_iter()), None);
    }
}
