//! Gradient buckets in data parallelism: when they are ready, and when they are sent (chapter 08).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    json,
    parallel::{BucketSizes, Cost, buckets, ring_seconds},
};

/// The model: equal gradients, in bytes, and the milliseconds in which the backward pass computes all.
const GRADIENTS: usize = 48;
const BYTES: usize = 2 << 20;
const BACKWARD: f64 = 40.0;
/// Seconds to start a message.
const LATENCY: f64 = 20e-6;

/// A bucket in the backward pass (row 0) or in its all-reduce (row 1), in milliseconds.
#[derive(Serialize)]
struct Span {
    row: usize,
    bucket: usize,
    start: f64,
    end: f64,
}

#[derive(Serialize)]
struct Timeline {
    spans: Vec<Span>,
    backward: f64,
    /// When the last all-reduce ends.
    end: f64,
}

/// Returns the timeline of a backward pass whose gradients are averaged over `ranks` ranks in buckets of `mebibytes`, over a
/// link of `gigabytes` a second: with `overlap` as soon as a bucket is full, otherwise after the backward pass.
#[wasm_bindgen]
pub fn gradients(mebibytes: usize, ranks: usize, gigabytes: f64, overlap: bool) -> String {
    json(&timeline(mebibytes, ranks, gigabytes, overlap))
}

fn timeline(mebibytes: usize, ranks: usize, gigabytes: f64, overlap: bool) -> Timeline {
    let size = mebibytes << 20;
    let sizes = BucketSizes {
        first: size,
        others: size,
    };
    let cost = Cost {
        alpha: LATENCY,
        beta: 1e-9 / gigabytes,
    };
    let (mut spans, mut ready, mut end) = (Vec::new(), 0.0, 0.0);
    for (i, bucket) in buckets(&[(BYTES, "f32"); GRADIENTS], sizes).iter().enumerate() {
        let start = ready;
        ready += BACKWARD * bucket.params.len() as f64 / GRADIENTS as f64;
        let sent = f64::max(end, if overlap { ready } else { BACKWARD });
        end = sent + 1e3 * ring_seconds(ranks, bucket.bytes as f64, cost);
        let mut add = |row, start, end| {
            spans.push(Span {
                row,
                bucket: i,
                start,
                end,
            })
        };
        add(0, start, ready);
        add(1, sent, end);
    }
    Timeline {
        spans,
        backward: BACKWARD,
        end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_hides_messages_behind_the_backward_pass() {
        let after = |mebibytes, overlap| timeline(mebibytes, 8, 12.5, overlap).end - BACKWARD;
        // 8 ranks send 14 messages of 20 µs and an eighth of the bucket: all 96 MiB, or 16 MiB six times.
        let all_reduce = |mebibytes: usize| 14.0 * (0.02 + ((mebibytes << 20) / 8) as f64 / 12.5e6);
        for (found, expected) in [
            (after(128, true), all_reduce(96)),
            (after(128, false), all_reduce(96)),
            (after(16, true), all_reduce(16)),
            (after(16, false), 6.0 * all_reduce(16)),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}
