//! A choice of the planner in words.

use std::fmt;

use super::{Choice, Machine, Work, bubble};
use crate::shard::{Stage, bytes_per_rank};

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.tensor > 1 {
            parts.push(format!("tensor parallel over {}", self.tensor));
        }
        if self.pipeline > 1 {
            parts.push(format!("pipeline of {} stages", self.pipeline));
        }
        if self.data > 1 {
            parts.push(format!("{} over {}", self.stage, self.data));
        }
        if parts.is_empty() {
            parts.push("one rank".into());
        }
        if self.micro_batches > 1 {
            parts.push(format!(
                "{} micro-batches of {}",
                self.micro_batches, self.micro_batch
            ));
        }
        f.write_str(&parts.join(", "))
    }
}

impl Choice {
    /// Returns why this is the choice for `work` on `machine`, in sentences.
    pub fn reason(&self, work: &Work, machine: &Machine) -> String {
        let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
        let ranks = machine.nodes * machine.ranks_per_node;
        let whole: u64 = bytes_per_rank(work.parameters, work.each, Stage::Zero0, ranks)
            .iter()
            .sum();
        let mut text = vec![format!(
            "A rank has {}; the whole model needs {}, and a sample's activations {}.",
            gib(machine.memory),
            gib(whole),
            gib(work.activations)
        )];
        if !self.fits {
            text.push(format!(
                "Nothing fits: even with the split that needs least, a rank keeps {}.",
                gib(self.bytes)
            ));
            return text.join(" ");
        }
        text.push(match (self.tensor, self.pipeline, self.stage) {
            (1, 1, Stage::Zero0) => "The model fits on one rank, so nothing has to be split.".into(),
            (1, 1, Stage::Zero3) => "The copies share parameters, gradients and optimizer state. This sends half as much again \
                                     as data parallelism, over links that are fast between all ranks."
                .into(),
            (1, 1, stage) => format!("{stage} is the first stage that fits, and sends as much as data parallelism."),
            (_, 1, _) => "Each layer is split over ranks of one node, because every layer sends its activations.".into(),
            _ => format!(
                "Nodes are stages, because only activations at their boundaries are sent between nodes. Stages are idle for \
                 {:.0} % of the time in which they compute.",
                100.0 * bubble(self.pipeline as usize, self.micro_batches as usize)
            ),
        });
        text.push(format!("A rank keeps {}.", gib(self.bytes)));
        text.join(" ")
    }
}
