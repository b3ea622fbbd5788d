//! Recordings in Chrome's trace event format, written and read.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Kind, Lane, Span, Timeline};

/// Writes Chrome's trace event format, which `chrome://tracing`, Perfetto and speedscope open: complete events (`X`) with
/// times in microseconds, and the lanes' names as metadata.
pub fn chrome(timeline: &Timeline) -> Value {
    let mut events =
        vec![json!({ "ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": { "name": "canopy" } })];
    for (tid, lane) in timeline.lanes.iter().enumerate() {
        let args = json!({ "name": lane.name, "device": lane.device });
        events.push(json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": args }));
        events.push(json!({ "ph": "M", "name": "thread_sort_index", "pid": 1, "tid": tid, "args": { "sort_index": tid } }));
    }
    let us = |ns: u64| ns as f64 / 1e3;
    events.extend(timeline.spans.iter().map(|s| {
        json!({
            "ph": "X", "name": s.name, "cat": s.kind.name(), "pid": 1, "tid": s.lane,
            "ts": us(s.start), "dur": us(s.duration()),
        })
    }));
    json!({
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": { "program": "canopy", "wall_ns": timeline.wall, "dropped": timeline.dropped },
    })
}

/// Reads a timeline in Chrome's trace event format: ours, or another program's with complete events or pairs of begin and
/// end. The categories of PyTorch's profiler become kernels, copies, launches and waits.
///
/// # Errors
/// Names the event and what is wrong with it.
pub fn from_chrome(text: &str) -> Result<Timeline> {
    let value: Value = serde_json::from_str(text).context("not JSON")?;
    let events = match &value {
        Value::Array(events) => events,
        Value::Object(all) => all
            .get("traceEvents")
            .and_then(Value::as_array)
            .context("there is no list 'traceEvents': is it a trace in Chrome's format?")?,
        _ => bail!("neither a list nor an object: is it a trace in Chrome's format?"),
    };
    let mut read = Reader::default();
    for (i, event) in events.iter().enumerate() {
        read.take(event).with_context(|| format!("event {}", i + 1))?;
    }
    ensure!(!read.spans.is_empty(), "the trace contains no span");
    let wall = value.pointer("/otherData/wall_ns").and_then(Value::as_u64);
    Ok(read.finish(wall))
}

#[derive(Default)]
struct Reader {
    lanes: Vec<Lane>,
    numbers: HashMap<(String, String), usize>,
    /// Times in microseconds.
    spans: Vec<(String, Kind, usize, f64, f64)>,
    begun: HashMap<usize, Vec<(String, Kind, f64)>>,
}

/// 30 years in microseconds: later times cannot be of a run, and sums of earlier ones do not overflow.
const LATEST: f64 = 1e15;

impl Reader {
    fn take(&mut self, event: &Value) -> Result<()> {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let phase = text("ph");
        if !["X", "B", "E", "M"].contains(&phase) {
            return Ok(());
        }
        let id = |key: &str| event.get(key).map(Value::to_string).unwrap_or_default();
        let lane = self.lane((id("pid"), id("tid")));
        if phase == "M" {
            if let ("thread_name", Some(args)) = (text("name"), event.get("args")) {
                if let Some(name) = args.get("name").and_then(Value::as_str) {
                    self.lanes[lane].name = name.to_owned();
                }
                self.lanes[lane].device |= args.get("device") == Some(&Value::Bool(true));
            }
            return Ok(());
        }
        let time = |key: &str| -> Result<f64> {
            let time = event.get(key).and_then(Value::as_f64);
            time.filter(|t| (0.0..LATEST).contains(t))
                .with_context(|| format!("'{key}' must be a time in microseconds, and is {}", id(key)))
        };
        let kind = kind_of(text("cat"), text("name"));
        let from_device =
            ["kernel", "gpu_memcpy", "gpu_memset"].contains(&text("cat")) && text("cat") != kind.name();
        self.lanes[lane].device |= from_device;
        match phase {
            "X" => {
                let start = time("ts")?;
                let end = start + time("dur")?;
                self.spans.push((text("name").to_owned(), kind, lane, start, end));
            }
            "B" => {
                let begun = (text("name").to_owned(), kind, time("ts")?);
                self.begun.entry(lane).or_default().push(begun);
            }
            _ => {
                let end = time("ts")?;
                let begun = self.begun.entry(lane).or_default().pop();
                let (name, kind, start) = begun.context("an end ('E') without its beginning ('B')")?;
                self.spans.push((name, kind, lane, start, end.max(start)));
            }
        }
        Ok(())
    }

    fn lane(&mut self, key: (String, String)) -> usize {
        let name = key.1.clone();
        *self.numbers.entry(key).or_insert_with(|| {
            self.lanes.push(Lane { name, device: false });
            self.lanes.len() - 1
        })
    }

    fn finish(self, wall: Option<u64>) -> Timeline {
        let own = wall.is_some();
        let first = self.spans.iter().map(|s| s.3).fold(f64::INFINITY, f64::min);
        let origin = if own { 0.0 } else { first };
        let ns = |us: f64| ((us - origin) * 1e3).round() as u64;
        // The main lane comes first. In our traces it already does; in others it is the host's lane with most spans.
        let mut counts = vec![0; self.lanes.len()];
        self.spans.iter().for_each(|s| counts[s.2] += 1);
        let mut order: Vec<usize> = (0..self.lanes.len()).filter(|&i| counts[i] > 0 || own).collect();
        if !own {
            order.sort_by_key(|&i| (self.lanes[i].device, usize::MAX - counts[i]));
        }
        let place: HashMap<usize, usize> = order.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let spans: Vec<Span> = self
            .spans
            .into_iter()
            .map(|(name, kind, lane, start, end)| Span::new(name, kind, place[&lane], ns(start), ns(end)))
            .collect();
        let last = spans.iter().map(|s| s.end).max().unwrap_or(0);
        Timeline {
            lanes: order.iter().map(|&i| self.lanes[i].clone()).collect(),
            wall: wall.unwrap_or(0).max(last),
            spans,
            dropped: 0,
        }
    }
}

fn kind_of(category: &str, name: &str) -> Kind {
    if let Some(kind) = Kind::ALL.into_iter().find(|k| k.name() == category) {
        return kind;
    }
    match category {
        "gpu_memcpy" => Kind::Copy,
        "gpu_memset" => Kind::Kernel,
        "cuda_runtime" | "cuda_driver" if name.contains("Synchronize") => Kind::Wait,
        "cuda_runtime" | "cuda_driver" if name.contains("Memcpy") || name.contains("memcpy") => Kind::Copy,
        "cuda_runtime" | "cuda_driver" | "cpu_op" => Kind::Launch,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests;
