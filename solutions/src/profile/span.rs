//! What is recorded: who did what, from when to when.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::totals::in_order;

/// What the time of a span goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The host, with anything that is none of the others.
    #[default]
    Other,
    /// The host, waiting for the loader's next batch or making it itself.
    Load,
    /// The host, moving numbers to the device or back; or the device's copy engine.
    Copy,
    /// The host, giving work to the device.
    Launch,
    /// The host, waiting until the device is done.
    Wait,
    /// The device, computing; without a device of its own, the host, computing.
    Kernel,
}

impl Kind {
    /// All kinds, in the order of a legend.
    pub const ALL: [Self; 6] = [
        Self::Kernel,
        Self::Launch,
        Self::Wait,
        Self::Load,
        Self::Copy,
        Self::Other,
    ];

    /// Its name, as a trace has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Load => "load",
            Self::Copy => "copy",
            Self::Launch => "launch",
            Self::Wait => "wait",
            Self::Kernel => "kernel",
        }
    }
}

/// Something that took from `start` to `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What it is called; spans of one name are added up.
    pub name: Cow<'static, str>,
    /// What its time goes to.
    pub kind: Kind,
    /// The thread, or the device's stream, that did it: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// Nanoseconds since the recording began.
    pub start: u64,
    /// Likewise, not before `start`.
    pub end: u64,
}

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
    /// Whether it is a device's: its spans do not nest.
    pub device: bool,
}

/// All that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Who did something. The first is the host thread that the run is about.
    pub lanes: Vec<Lane>,
    /// What they did; those of a thread nest. In no order.
    pub spans: Vec<Span>,
    /// Length of the recording, nanoseconds.
    pub wall: u64,
    /// Spans that found no room.
    pub dropped: u64,
}

impl Timeline {
    /// The spans of one lane.
    pub fn of(&self, lane: usize) -> Vec<Span> {
        self.spans.iter().filter(|s| s.lane == lane).cloned().collect()
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
