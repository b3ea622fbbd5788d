//! The pattern of a timeline, one of four.

use std::fmt;

use serde::Serialize;

use super::{Kind, Span, Timeline, pieces, span::covered};

// ANCHOR: Pattern
/// What limits the speed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// The device computes nearly all the time.
    Compute,
    /// The device waits for the host to launch work.
    Launch,
    /// The host waits for the device again and again, and then the device waits for the host.
    Synchronisation,
    /// The host waits for data.
    Input,
}
// ANCHOR_END: Pattern

impl Pattern {
    /// What such a run is called, and how to speed it up.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Compute => (
                "compute bound",
                "The hardware is busy. Do less (a smaller or a fused network, lower precision), or use faster or more \
                 hardware. The roofline shows what a kernel could reach.",
            ),
            Self::Launch => (
                "launch bound",
                "Launch more work at once: larger batches, fused operators, a multi-tensor optimizer, CUDA graphs.",
            ),
            Self::Synchronisation => (
                "synchronisation bound",
                "Read values less often: keep losses on the device and read them once per epoch, remove checks after \
                 each operator, copy without blocking.",
            ),
            Self::Input => (
                "input bound",
                "Prepare batches ahead: more workers (--workers), more prefetch, shards instead of text (canopy data \
                 import), expensive work done once before training.",
            ),
        }
    }

    /// How to speed up such a run.
    pub fn advice(self) -> &'static str {
        self.texts().1
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.texts().0)
    }
}

/// The share of the time for which the device must compute for a run to be compute bound.
pub const COMPUTE_BOUND: f64 = 0.8;

/// The pattern of `spans` over `wall` nanoseconds; None if there is no span to decide by.
///
/// Kernels may overlap; time with several counts once. If they cover at least [`COMPUTE_BOUND`] of the time, the run is
/// compute bound. Otherwise the pattern is what the host spends most of its time on: loading and copying together (input),
/// waiting (synchronisation), or launching. Of equal ones the first of these three counts. The host's spans must not overlap
/// each other; see [`pieces`].
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    let busy = covered(spans.iter().filter(|s| s.kind == Kind::Kernel));
    if busy as f64 >= COMPUTE_BOUND * wall as f64 && busy > 0 {
        return Some(Pattern::Compute);
    }
    let time = |kinds: &[Kind]| -> u64 {
        let of = spans.iter().filter(|s| kinds.contains(&s.kind));
        of.map(Span::duration).sum()
    };
    // Of equal ones, `max_by_key` returns the last.
    let candidates = [
        (time(&[Kind::Launch]), Pattern::Launch),
        (time(&[Kind::Wait]), Pattern::Synchronisation),
        (time(&[Kind::Load, Kind::Copy]), Pattern::Input),
    ];
    let most = candidates.into_iter().max_by_key(|(time, _)| *time);
    most.filter(|(time, _)| *time > 0).map(|(_, pattern)| pattern)
}

/// The evidence: shares of the time by kind. On the host the innermost span counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// A kernel ran.
    pub kernel: f64,
    /// The host launched work.
    pub launch: f64,
    /// The host waited for the device.
    pub wait: f64,
    /// The host waited for data, or prepared it.
    pub load: f64,
    /// The host copied.
    pub copy: f64,
    /// The host ran another span.
    pub other: f64,
}

impl Timeline {
    /// The spans that a pattern is decided by: those of the first lane without overlaps, and those of the device.
    pub fn flat(&self) -> Vec<Span> {
        let mut flat = pieces(&self.of(0));
        flat.extend(self.spans.iter().filter(|s| self.is_device(s.lane)).cloned());
        flat
    }

    /// Shares of the recording's length.
    pub fn shares(&self) -> Shares {
        let flat = self.flat();
        let wall = self.wall.max(1) as f64;
        let of = |kind: Kind| covered(flat.iter().filter(|s| s.kind == kind)) as f64 / wall;
        Shares {
            kernel: of(Kind::Kernel),
            launch: of(Kind::Launch),
            wait: of(Kind::Wait),
            load: of(Kind::Load),
            copy: of(Kind::Copy),
            other: of(Kind::Other),
        }
    }
}
