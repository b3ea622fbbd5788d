//! The content of a recording: spans of time, by lane.

use std::{borrow::Cow, cmp::Reverse};

use serde::{Deserialize, Serialize};

// ANCHOR: Kind
/// What the time of a span is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The host: anything else.
    #[default]
    Other,
    /// The host waits for the loader's next batch, or prepares it.
    Load,
    /// The host copies data to the device or back, or the device's copy engine does.
    Copy,
    /// The host launches work on the device.
    Launch,
    /// The host waits until the device has finished.
    Wait,
    /// The device computes; without a device, the host does.
    Kernel,
}
// ANCHOR_END: Kind

impl Kind {
    /// All kinds, in the order of a legend.
    pub const ALL: [Self; 6] = {
        use Kind::{Copy, Kernel, Launch, Load, Other, Wait};
        [Kernel, Launch, Wait, Load, Copy, Other]
    };

    /// Its name in a trace.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

// ANCHOR: Span
/// A named piece of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its name; spans of one name are added up.
    pub name: Cow<'static, str>,
    /// What its time is used for.
    pub kind: Kind,
    /// Its thread, or the device's stream: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// Nanoseconds since the recording began.
    pub start: u64,
    /// Likewise; not less than `start`.
    pub end: u64,
}
// ANCHOR_END: Span

impl Span {
    /// A span; an `end` before its `start` counts as `start`.
    pub fn new(name: impl Into<Cow<'static, str>>, kind: Kind, lane: usize, start: u64, end: u64) -> Self {
        Self {
            name: name.into(),
            kind,
            lane,
            start,
            end: end.max(start),
        }
    }

    /// Nanoseconds.
    pub fn duration(&self) -> u64 {
        self.end - self.start
    }
}

/// A thread, or a stream of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// `main`, `loader-0`, `device`.
    pub name: String,
    /// Whether it belongs to a device; its spans do not nest.
    pub device: bool,
}

impl Lane {
    pub(super) fn new(name: &str, device: bool) -> Self {
        let name = name.to_owned();
        Self { name, device }
    }
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Threads and streams. The first is the main thread.
    pub lanes: Vec<Lane>,
    /// Their spans, in no particular order; those of a thread nest.
    pub spans: Vec<Span>,
    /// Length of the recording, nanoseconds.
    pub wall: u64,
    /// Spans over the limit, which were not recorded.
    pub dropped: u64,
}

impl Timeline {
    /// The spans of one lane.
    pub fn of(&self, lane: usize) -> Vec<Span> {
        self.spans.iter().filter(|s| s.lane == lane).cloned().collect()
    }

    /// Whether a lane is a stream of the device.
    pub(super) fn is_device(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_some_and(|l| l.device)
    }

    /// The part from `from` to `to`, nanoseconds, its time counted from `from`. Spans are cut off at its ends; they come
    /// as they nest, so that of two cut to the very same time the first still holds the other.
    #[must_use]
    pub fn window(&self, from: u64, to: u64) -> Self {
        let cut = |i: usize| {
            let s = &self.spans[i];
            let (start, end) = (s.start.max(from), s.end.min(to));
            (start < end).then(|| Span::new(s.name.clone(), s.kind, s.lane, start - from, end - from))
        };
        Self {
            lanes: self.lanes.clone(),
            spans: in_order(&self.spans).into_iter().filter_map(cut).collect(),
            wall: to.min(self.wall).saturating_sub(from),
            dropped: self.dropped,
        }
    }
}

/// The spans' indices by lane, then by start, the longer one first.
pub(super) fn in_order(spans: &[Span]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&i| (spans[i].lane, spans[i].start, Reverse(spans[i].end)));
    order
}

/// Nanoseconds that at least one of `spans` covers.
pub(super) fn covered<'a>(spans: impl Iterator<Item = &'a Span>) -> u64 {
    let mut bounds: Vec<(u64, u64)> = spans.map(|s| (s.start, s.end)).collect();
    bounds.sort_unstable();
    let (mut sum, mut reached) = (0, 0);
    for (start, end) in bounds {
        sum += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    sum
}
