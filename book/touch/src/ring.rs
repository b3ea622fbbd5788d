//! A ring all-reduce, step by step (chapter 08).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::json;

/// The state after a step.
#[derive(Serialize)]
struct Step {
    /// How many ranks are summed into each chunk: `[rank][chunk]`.
    summed: Vec<Vec<usize>>,
    /// The chunk that each rank sent in this step; nothing before the first.
    sent: Vec<usize>,
}

/// Returns the states of an all-reduce over `ranks` ranks: the start, the reduce-scatter and the all-gather.
#[wasm_bindgen]
pub fn ring(ranks: usize) -> String {
    json(&steps(ranks))
}

fn steps(p: usize) -> Vec<Step> {
    let mut summed = vec![vec![1; p]; p];
    let mut steps = vec![Step {
        summed: summed.clone(),
        sent: Vec::new(),
    }];
    for step in 0..2 * p.saturating_sub(1) {
        // Rank r starts the reduce-scatter with chunk r − 1, and the all-gather with its own, chunk r.
        let gathers = step + 1 >= p;
        let first = if gathers { p + (p - 1) } else { p - 1 };
        let sent: Vec<usize> = (0..p).map(|rank| (rank + p + first - step) % p).collect();
        let before = summed.clone();
        for (rank, &chunk) in sent.iter().enumerate() {
            let to = (rank + 1) % p;
            summed[to][chunk] = if gathers {
                before[rank][chunk]
            } else {
                before[to][chunk] + before[rank][chunk]
            };
        }
        steps.push(Step {
            summed: summed.clone(),
            sent,
        });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_one_sum_after_half_of_the_steps_and_all_at_the_end() {
        for p in 1..9 {
            let steps = steps(p);
            assert_eq!(steps.len(), 2 * p - 1);
            for rank in 0..p {
                assert_eq!(steps[p - 1].summed[rank][rank], p);
                assert!(steps[2 * p - 2].summed[rank].iter().all(|&n| n == p));
            }
        }
    }
}
