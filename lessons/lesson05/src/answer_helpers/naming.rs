//! `name_pattern` with switches.

use canopy::profile::{Kind, Pattern, Span};

/// What naming a pattern may do differently.
#[derive(Clone, Copy)]
pub struct Naming {
    /// How long the kernels cover, from their (start, end, lane), sorted.
    pub busy: fn(&[(u64, u64, usize)]) -> u64,
    /// What the busy time is a share of.
    pub whole: fn(&[Span], u64) -> u64,
    /// Whether that is compute bound, from the busy time and the whole.
    pub is_compute: fn(u64, u64) -> bool,
    /// Without kernels, there is no pattern.
    pub needs_kernels: bool,
    /// The kinds of each group, in the order in which ties go.
    pub groups: &'static [(&'static [Kind], Option<Pattern>)],
    /// The time of a group, from its spans.
    pub time: fn(&mut dyn Iterator<Item = u64>) -> u64,
    /// The greatest group must have more than this share of the wall time.
    pub at_least: f64,
    /// The later of equal ones.
    pub later: bool,
    /// The result without any time.
    pub nothing: Option<Pattern>,
}

pub const INPUT: (&[Kind], Option<Pattern>) = (&[Kind::Load, Kind::Copy], Some(Pattern::Input));
pub const WAIT: (&[Kind], Option<Pattern>) = (&[Kind::Wait], Some(Pattern::Synchronisation));
pub const LAUNCH: (&[Kind], Option<Pattern>) = (&[Kind::Launch], Some(Pattern::Launch));

pub const NAMING: Naming = Naming {
    busy: covered,
    whole: |_, wall| wall,
    is_compute: |busy, whole| busy > 0 && busy as f64 >= 0.8 * whole as f64,
    needs_kernels: false,
    groups: &[INPUT, WAIT, LAUNCH],
    time: |times| times.sum(),
    at_least: 0.0,
    later: false,
    nothing: None,
};

/// Moment by moment, over all bounds.
pub fn covered(list: &[(u64, u64, usize)]) -> u64 {
    let mut bounds: Vec<u64> = list.iter().flat_map(|&(a, b, _)| [a, b]).collect();
    bounds.sort_unstable();
    let inside = |a: u64, b: u64| list.iter().any(|&(start, end, _)| start <= a && b <= end);
    bounds
        .windows(2)
        .filter(|w| inside(w[0], w[1]))
        .map(|w| w[1] - w[0])
        .sum()
}

/// The time of all spans of these kinds.
pub fn sum_of(spans: &[Span], of: impl Fn(Kind) -> bool) -> u64 {
    spans.iter().filter(|s| of(s.kind)).map(Span::duration).sum()
}

pub fn named(spans: &[Span], wall: u64, how: Naming) -> Option<Pattern> {
    let mut kernels: Vec<(u64, u64, usize)> = spans
        .iter()
        .filter(|s| s.kind == Kind::Kernel)
        .map(|s| (s.start, s.end, s.lane))
        .collect();
    kernels.sort_unstable();
    if how.needs_kernels && kernels.is_empty() {
        return None;
    }
    if (how.is_compute)((how.busy)(&kernels), (how.whole)(spans, wall)) {
        return Some(Pattern::Compute);
    }
    let mut best = (0, how.nothing);
    for (kinds, pattern) in how.groups {
        let mut of = spans
            .iter()
            .filter(|s| kinds.contains(&s.kind))
            .map(Span::duration);
        let time = (how.time)(&mut of);
        if time > best.0 || (how.later && time == best.0 && time > 0) {
            best = (time, *pattern);
        }
    }
    if (best.0 as f64) < how.at_least * wall as f64 {
        return None;
    }
    best.1
}
