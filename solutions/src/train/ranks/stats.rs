//! Communication statistics of a rank.

use std::time::Duration;

use super::{Allocated, RankMemory};
use crate::parallel::{Reduced, Traffic};

/// Steps and communication of one rank so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankStats {
    /// Steps taken.
    pub steps: u64,
    /// Time of the steps, without loading, in seconds.
    pub seconds: f64,
    /// Time of the reductions of gradients, including the time spent waiting for other ranks, in seconds.
    pub communicating: f64,
    /// The part of it after the end of the backward pass, in seconds; the rest was hidden behind the backward pass.
    pub waited: f64,
    /// Gradients that this rank has sent.
    pub gradients: Traffic,
    /// Parameters that this rank has sent after its steps; none without ZeRO.
    pub parameters: Traffic,
    /// What it keeps.
    pub memory: Option<RankMemory>,
    /// What the processes have allocated on the CPU; `None` if the ranks are threads, or if this build does not count it.
    pub allocated: Option<Allocated>,
    /// Everything else that it has sent: sums of batch norm, flags after each step, digests of the parameters.
    pub others: Traffic,
}

impl RankStats {
    /// Adds the cost of the gradients of one step.
    pub(super) fn reduced(&mut self, reduced: &Reduced) {
        self.communicating += reduced.communicating.as_secs_f64();
        self.waited += reduced.waited.as_secs_f64();
        self.gradients += reduced.traffic;
    }

    /// Adds `time` in which this rank did nothing but communicate.
    pub(super) fn waited(&mut self, time: Duration) {
        self.communicating += time.as_secs_f64();
        self.waited += time.as_secs_f64();
    }

    /// Returns a summary of a step for users; `None` for a run of one rank.
    pub fn line(&self) -> Option<String> {
        let steps = self.steps.max(1) as f64;
        let each = |bytes: u64| bytes as f64 / steps / 1e6;
        let ms = |seconds: f64| seconds / steps * 1e3;
        let parameters = match self.parameters.bytes {
            0 => String::new(),
            bytes => format!("{:.2} MB of parameters, ", each(bytes)),
        };
        let reduction = if parameters.is_empty() {
            "all-reduce"
        } else {
            "reduction"
        };
        (self.steps > 0).then(|| {
            format!(
                "rank 0, per step: {:.1} ms; sent {:.2} MB of gradients, {parameters}{:.2} MB for batch norm;\n\
                 {reduction} of gradients {:.1} ms, {:.1} ms of it after the backward pass",
                ms(self.seconds),
                each(self.gradients.bytes),
                each(self.others.bytes),
                ms(self.communicating),
                ms(self.waited)
            )
        })
    }
}
