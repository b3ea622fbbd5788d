//! Who waits for whom: workers that decode, and a trainer that copies and steps (chapters 03 and 05).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::json;

/// One box of the timeline, in milliseconds.
#[derive(Serialize)]
struct Span {
    /// A worker's number, or `workers` for the copy and `workers` + 1 for the step.
    row: usize,
    batch: usize,
    start: f64,
    end: f64,
}

#[derive(Serialize)]
struct Timeline {
    spans: Vec<Span>,
    /// Milliseconds from one step to the next, on average over the second half.
    pace: f64,
    /// The share of the time in which a step is computed, at this pace.
    busy: f64,
}

/// Returns the timeline of `batches` batches. A batch is decoded by the worker that is free first, at most `ahead` batches
/// before it is used; then it is copied and stepped on. With `overlap`, the next copy runs during the step.
#[wasm_bindgen]
pub fn waits(
    workers: usize,
    ahead: usize,
    decode: f64,
    copy: f64,
    step: f64,
    overlap: bool,
    batches: usize,
) -> String {
    json(&timeline(
        workers.max(1),
        ahead.max(1),
        [decode, copy, step],
        overlap,
        batches,
    ))
}

fn timeline(
    workers: usize,
    ahead: usize,
    [decode, copy, step]: [f64; 3],
    overlap: bool,
    batches: usize,
) -> Timeline {
    let mut free: Vec<f64> = vec![0.0; workers];
    let (mut spans, mut steps) = (Vec::new(), Vec::<(f64, f64)>::new());
    // When each batch was taken from the queue, which makes room for another.
    let mut taken: Vec<f64> = Vec::new();
    for batch in 0..batches {
        let worker = (0..workers)
            .min_by(|&a, &b| free[a].total_cmp(&free[b]))
            .unwrap_or(0);
        let room = if batch < ahead { 0.0 } else { taken[batch - ahead] };
        let start = f64::max(free[worker], room);
        free[worker] = start + decode;
        let last_step = steps.last().map_or((0.0, 0.0), |&(start, end)| (start, end));
        // A second batch on the device may wait while the first is stepped on.
        let copies = free[worker].max(if overlap { last_step.0 } else { last_step.1 });
        let starts = f64::max(copies + copy, last_step.1);
        let mut add = |row, start: f64, length| {
            spans.push(Span {
                row,
                batch,
                start,
                end: start + length,
            })
        };
        add(worker, start, decode);
        add(workers, copies, copy);
        add(workers + 1, starts, step);
        taken.push(copies);
        steps.push((starts, starts + step));
    }
    let half = (batches / 2).saturating_sub(1);
    let pace = (steps[batches - 1].0 - steps[half].0) / (batches - 1 - half).max(1) as f64;
    Timeline {
        spans,
        pace,
        busy: (step / pace).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_part_sets_the_pace() {
        let pace = |workers, overlap| timeline(workers, 4, [30.0, 2.0, 10.0], overlap, 48).pace;
        // One worker decodes a batch in 30 ms; six could deliver one in 5 ms.
        assert!((pace(1, true) - 30.0).abs() < 1e-9);
        assert!((pace(6, true) - 10.0).abs() < 1e-9);
        assert!((pace(6, false) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn without_batches_ahead_more_workers_do_not_help() {
        let pace = timeline(8, 1, [30.0, 0.0, 10.0], true, 48).pace;
        assert!(pace > 29.0, "{pace}");
    }
}
