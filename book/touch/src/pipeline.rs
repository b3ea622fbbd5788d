//! The timeline of a pipeline (chapter 10).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    json,
    split::{Action, activations_held, bubble, gpipe_order, one_f_one_b_order},
};

/// A forward pass takes 1 unit of time, a backward pass 2.
const BACKWARD: u32 = 2;

/// One box of the timeline.
#[derive(Serialize)]
struct Span {
    stage: usize,
    micro_batch: usize,
    backward: bool,
    start: u32,
    end: u32,
}

#[derive(Serialize)]
struct Timeline {
    spans: Vec<Span>,
    /// Idle time over the time of the work.
    bubble: f64,
    /// Micro-batches whose activations a stage stores at the same time, for each stage.
    held: Vec<usize>,
}

/// Returns when each stage computes each micro-batch, with GPipe's schedule or with 1F1B.
#[wasm_bindgen]
pub fn pipeline(stages: usize, micro_batches: usize, one_f_one_b: bool) -> String {
    let order = if one_f_one_b {
        one_f_one_b_order
    } else {
        gpipe_order
    };
    let orders: Vec<Vec<Action>> = (0..stages).map(|s| order(s, stages, micro_batches)).collect();
    let timeline = Timeline {
        spans: spans(&orders, micro_batches),
        bubble: bubble(stages, micro_batches),
        held: orders.iter().map(|order| activations_held(order)).collect(),
    };
    json(&timeline)
}

/// Runs each stage's actions in their order, each as soon as its input exists.
fn spans(orders: &[Vec<Action>], micro_batches: usize) -> Vec<Span> {
    let stages = orders.len();
    let mut forward = vec![vec![None; micro_batches]; stages];
    let mut backward = forward.clone();
    let (mut next, mut free) = (vec![0; stages], vec![0; stages]);
    let mut spans: Vec<Span> = Vec::new();
    while spans.len() < 2 * stages * micro_batches {
        for s in 0..stages {
            let Some(&action) = orders[s].get(next[s]) else {
                continue;
            };
            let (m, is_backward, ready) = match action {
                Action::Forward(m) => (m, false, if s == 0 { Some(0) } else { forward[s - 1][m] }),
                Action::Backward(m) if s + 1 == stages => (m, true, forward[s][m]),
                Action::Backward(m) => (m, true, backward[s + 1][m]),
            };
            let Some(ready) = ready else { continue };
            let start = free[s].max(ready);
            let end = start + if is_backward { BACKWARD } else { 1 };
            let done = if is_backward { &mut backward } else { &mut forward };
            (done[s][m], free[s], next[s]) = (Some(end), end, next[s] + 1);
            spans.push(Span {
                stage: s,
                micro_batch: m,
                backward: is_backward,
                start,
                end,
            });
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schedules_end_after_work_and_bubble() {
        for (stages, micro_batches) in [(1, 3), (4, 1), (4, 8), (5, 2)] {
            for order in [gpipe_order, one_f_one_b_order] {
                let orders: Vec<_> = (0..stages).map(|s| order(s, stages, micro_batches)).collect();
                let end = spans(&orders, micro_batches).iter().map(|span| span.end).max();
                let work = micro_batches as u32 * (1 + BACKWARD);
                let idle = (stages - 1) as u32 * (1 + BACKWARD);
                assert_eq!(end, Some(work + idle));
                assert_eq!(bubble(stages, micro_batches), f64::from(idle) / f64::from(work));
            }
        }
    }
}
