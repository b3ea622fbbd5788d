//! When all ranks wait for messages that nobody will send.

use std::collections::VecDeque;

use super::State;

impl State {
    /// Sets `stuck` if no rank can go on.
    pub(super) fn look_for_a_standstill(&mut self) {
        let nothing = |from: usize, to: usize| self.queues.get(&(from, to)).is_none_or(VecDeque::is_empty);
        let waits = |rank: usize| self.waiting[rank].is_some_and(|from| nothing(from, rank));
        let running: Vec<usize> = (0..self.ended.len()).filter(|&r| !self.ended[r]).collect();
        if self.stuck.is_none() && !running.is_empty() && running.iter().all(|&r| waits(r)) {
            let one = |&r: &usize| format!("rank {r} for rank {}", self.waiting[r].unwrap_or_default());
            let all: Vec<String> = running.iter().take(3).map(one).collect();
            let more = if running.len() > 3 { ", …" } else { "" };
            // What went wrong first is why the others wait.
            let first: String = self
                .errors
                .values()
                .take(1)
                .map(|e| format!("{e}; then "))
                .collect();
            let (n, world) = (running.len(), self.ended.len());
            self.stuck = Some(format!(
                "{first}{n} of {world} ranks wait: {}{more}",
                all.join(", ")
            ));
        }
    }
}
