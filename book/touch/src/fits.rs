//! Memory of a GPU in data-parallel training, and what a step sends (chapter 09).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    json,
    precision::{BF16, FP32, bytes_per_parameter},
    shard::{Stage, bytes_per_rank, numbers_sent},
};

/// Bytes of each rank.
#[derive(Serialize)]
struct Fit {
    stage: String,
    weights: u64,
    gradients: u64,
    optimizer: u64,
    /// Sent in a step.
    sent: u64,
}

/// Returns the memory and traffic of each of `ranks` ranks for each ZeRO stage: with Adam if `moments` is 2, with momentum if
/// it is 1. `mixed` stores weights and gradients in bf16, with an fp32 master weight.
#[wasm_bindgen]
pub fn fits(parameters: f64, mixed: bool, moments: u32, ranks: u32) -> String {
    let each = bytes_per_parameter(if mixed { BF16 } else { FP32 }, moments);
    let (parameters, ranks) = (parameters as u64, u64::from(ranks));
    let rows = Stage::ALL.map(|stage| {
        let [weights, gradients, optimizer] = bytes_per_rank(parameters, each, stage, ranks);
        Fit {
            stage: stage.to_string(),
            weights,
            gradients,
            optimizer,
            sent: u64::from(each.weight) * numbers_sent(parameters, stage, ranks),
        }
    });
    json(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adam_in_mixed_precision_takes_16_bytes_per_parameter() {
        let all: serde_json::Value = serde_json::from_str(&fits(7e9, true, 2, 64)).unwrap();
        let total = |row: &serde_json::Value| {
            ["weights", "gradients", "optimizer"]
                .iter()
                .map(|name| row[name].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(total(&all[0]), 112_000_000_000);
        // Stage 3 divides everything by the ranks.
        assert_eq!(total(&all[3]), 112_000_000_000 / 64);
    }
}
