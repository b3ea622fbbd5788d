//! Recordings in Chrome's trace event format, which other programs show.

use serde_json::{Value, json};

use super::Timeline;

/// Writes Chrome's trace event format, which `chrome://tracing`, Perfetto and speedscope open: complete events (`X`) with
/// times in microseconds, and the lanes' names as metadata.
pub fn chrome(timeline: &Timeline) -> Value {
    let meta = |name: &str, tid: usize, args: Value| json!({ "ph": "M", "name": name, "pid": 1, "tid": tid, "args": args });
    let mut events = vec![meta("process_name", 0, json!({ "name": "canopy" }))];
    for (tid, lane) in timeline.lanes.iter().enumerate() {
        let args = json!({ "name": lane.name, "device": lane.device });
        events.push(meta("thread_name", tid, args));
        events.push(meta("thread_sort_index", tid, json!({ "sort_index": tid })));
    }
    let us = |ns: u64| ns as f64 / 1e3;
    events.extend(timeline.spans.iter().map(|s| {
        json!({
            "ph": "X", "name": s.name, "cat": s.kind, "pid": 1, "tid": s.lane,
            "ts": us(s.start), "dur": us(s.duration()),
        })
    }));
    json!({
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": { "program": "canopy", "wall_ns": timeline.wall, "dropped": timeline.dropped },
    })
}
