//! Total and self time of spans by name.

use std::collections::HashMap;

use serde::Serialize;

use super::{
    Span,
    span::{covered, in_order},
};

// ANCHOR: Total
/// The sums over the spans of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Their name.
    pub name: String,
    /// Their number.
    pub calls: usize,
    /// Total time: nanoseconds from start to end. A span within another of the same name adds nothing.
    pub total: u64,
    /// Self time: nanoseconds in these spans, without the spans within them.
    #[serde(rename = "self")]
    pub own: u64,
}
// ANCHOR_END: Total

/// Calls, total and self time of each name, by descending self time, then name. `parents` is the result of [`parents`].
pub fn totals(spans: &[Span], parents: &[Option<usize>]) -> Vec<Total> {
    let mut by_name: HashMap<&str, Total> = HashMap::new();
    let mut of_lane: HashMap<(&str, usize), Vec<&Span>> = HashMap::new();
    for span in spans {
        let of = by_name.entry(&span.name).or_default();
        of.calls += 1;
        of.own += span.duration();
        of_lane.entry((&span.name, span.lane)).or_default().push(span);
    }
    for (span, parent) in spans.iter().zip(parents) {
        if let Some(of) = parent.and_then(|j| by_name.get_mut(&*spans[j].name)) {
            // Cannot become negative if spans nest; 0 if they do not.
            of.own = of.own.saturating_sub(span.duration());
        }
    }
    for ((name, _), of) in of_lane {
        // Spans of one name that overlap are nested.
        by_name.entry(name).or_default().total += covered(of.into_iter());
    }
    let named = by_name.into_iter().map(|(name, total)| Total {
        name: name.to_owned(),
        ..total
    });
    let mut totals: Vec<Total> = named.collect();
    totals.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
    totals
}

/// The index of the innermost span around each span, or None.
///
/// Spans of one `lane` nest: of two that overlap, one contains the other. Of two with the same start and end, the first in
/// the list contains the other.
pub fn parents(spans: &[Span]) -> Vec<Option<usize>> {
    let mut parents = vec![None; spans.len()];
    let mut open: Vec<usize> = Vec::new();
    for i in in_order(spans) {
        let span = &spans[i];
        while open.last().is_some_and(|&top| {
            let top = &spans[top];
            // An empty span at the end of another is within it.
            top.lane != span.lane || top.end < span.end || (top.end <= span.start && span.duration() > 0)
        }) {
            open.pop();
        }
        parents[i] = open.last().copied();
        open.push(i);
    }
    parents
}

/// The same time as spans that do not overlap: each piece has the name and kind of the innermost span over it.
pub fn pieces(spans: &[Span]) -> Vec<Span> {
    let parents = parents(spans);
    // Up to where each span has become pieces, its own or of the spans within it.
    let mut reached: Vec<u64> = spans.iter().map(|s| s.start).collect();
    let mut out: Vec<Span> = Vec::new();
    let piece = |i: usize, start: u64, end: u64| {
        let Span { name, kind, lane, .. } = &spans[i];
        (start < end).then(|| Span::new(name.clone(), *kind, *lane, start, end))
    };
    for i in in_order(spans) {
        if let Some(parent) = parents[i] {
            out.extend(piece(parent, reached[parent], spans[i].start));
            reached[parent] = reached[parent].max(spans[i].end);
        }
    }
    out.extend((0..spans.len()).filter_map(|i| piece(i, reached[i], spans[i].end)));
    out.sort_by_key(|s| (s.lane, s.start));
    out
}
