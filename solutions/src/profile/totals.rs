//! Total and self time of spans by name.

use std::collections::HashMap;

use super::{Span, span::in_order};

// ANCHOR: Total
/// The sums over the spans of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Their name.
    pub name: String,
    /// Their number.
    pub calls: usize,
    /// Total time: nanoseconds from start to end. A span within another of the same name adds nothing.
    pub total: u64,
    /// Self time: nanoseconds in these spans, without the spans within them.
    pub own: u64,
}
// ANCHOR_END: Total

/// Calls, total and self time of each name, the greatest self time first; equal ones by name.
///
/// Spans of one `lane` nest: of two that overlap, one contains the other. Of two with the same start and end the first in
/// the list contains the other. Lanes are added up.
pub fn totals(spans: &[Span]) -> Vec<Total> {
    let mut by_name: HashMap<&str, Total> = HashMap::new();
    let parents = parents(spans);
    // The spans around the current one, and how many of them have each name: walking up from each span would take
    // quadratic time if they are nested deep.
    let mut open: Vec<usize> = Vec::new();
    let mut around: HashMap<&str, usize> = HashMap::new();
    for i in in_order(spans) {
        let span = &spans[i];
        while open.last().copied() != parents[i] {
            let Some(ended) = open.pop() else { break };
            if let Some(count) = around.get_mut(&*spans[ended].name) {
                *count -= 1;
            }
        }
        let count = around.entry(&span.name).or_default();
        let of = by_name.entry(&span.name).or_default();
        of.calls += 1;
        of.own += span.duration();
        if *count == 0 {
            of.total += span.duration();
        }
        *count += 1;
        open.push(i);
    }
    for (i, span) in spans.iter().enumerate() {
        if let Some(of) = parents[i].and_then(|j| by_name.get_mut(&*spans[j].name)) {
            // Cannot become negative if spans nest; 0 if they do not.
            of.own = of.own.saturating_sub(span.duration());
        }
    }
    let named = by_name.into_iter().map(|(name, total)| Total {
        name: name.to_owned(),
        ..total
    });
    let mut totals: Vec<Total> = named.collect();
    totals.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
    totals
}

/// The innermost span around each span, if there is one.
pub(super) fn parents(spans: &[Span]) -> Vec<Option<usize>> {
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
    let mut out: Vec<Span> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (mut at, mut lane) = (0, None);
    let parents = parents(spans);
    // Closes spans up to `parent`, each with the piece since the last border.
    let close = |open: &mut Vec<usize>, parent: Option<usize>, at: &mut u64, out: &mut Vec<Span>| {
        while let Some(&top) = open.last() {
            if Some(top) == parent {
                break;
            }
            let s = &spans[top];
            if s.end > *at {
                out.push(Span::new(s.name.clone(), s.kind, s.lane, *at, s.end));
                *at = s.end;
            }
            open.pop();
        }
    };
    for i in in_order(spans) {
        let span = &spans[i];
        close(&mut open, parents[i], &mut at, &mut out);
        if let Some(&top) = open.last() {
            let s = &spans[top];
            if span.start > at {
                out.push(Span::new(s.name.clone(), s.kind, s.lane, at, span.start));
            }
        }
        // Another lane starts again; in one lane, spans that do not nest follow each other.
        at = if lane == Some(span.lane) {
            at.max(span.start)
        } else {
            span.start
        };
        lane = Some(span.lane);
        open.push(i);
    }
    close(&mut open, None, &mut at, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Kind;
    use proptest::prelude::*;

    fn span(name: &'static str, lane: usize, start: u64, end: u64) -> Span {
        Span::new(name, Kind::Other, lane, start, end)
    }

    fn total(name: &str, calls: usize, total: u64, own: u64) -> Total {
        let name = name.into();
        Total {
            name,
            calls,
            total,
            own,
        }
    }

    #[test]
    fn a_window_within_a_span_keeps_the_nesting() {
        // In the order in which guards end them: the innermost first. Within the window, both have the same start and end.
        let spans = vec![span("next batch", 0, 10, 90), span("step", 0, 0, 100)];
        let timeline = crate::profile::Timeline {
            spans,
            wall: 100,
            ..Default::default()
        };
        let part = timeline.window(40, 60);
        assert_eq!(part.wall, 20);
        assert_eq!(
            totals(&part.spans),
            [total("next batch", 1, 20, 20), total("step", 1, 20, 0)]
        );
        assert_eq!(pieces(&part.spans), [span("next batch", 0, 0, 20)]);
    }

    /// Spans that nest, from a list of openings and closings.
    fn nested(moves: &[(bool, u64)]) -> Vec<Span> {
        let (mut at, mut open, mut out) = (0, Vec::new(), Vec::new());
        for &(opens, step) in moves {
            at += step;
            if opens {
                open.push((["a", "b", "c"][open.len() % 3], at));
            } else if let Some((name, start)) = open.pop() {
                out.push(span(name, 0, start, at));
            }
        }
        out.extend(
            open.iter()
                .rev()
                .map(|&(name, start)| span(name, 0, start, at + 1)),
        );
        out
    }

    proptest! {
        #[test]
        fn pieces_do_not_overlap_and_keep_every_self_time(moves in prop::collection::vec((any::<bool>(), 0u64..5), 0..60)) {
            let spans = nested(&moves);
            let pieces = pieces(&spans);
            for pair in pieces.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for of in totals(&spans) {
                let own: u64 = pieces.iter().filter(|p| p.name == of.name).map(Span::duration).sum();
                prop_assert_eq!(own, of.own, "{}", of.name);
            }
        }

        #[test]
        fn any_spans_are_taken(list in prop::collection::vec((0usize..3, 0u64..50, 0u64..50), 0..40)) {
            let spans: Vec<Span> = list.iter().map(|&(lane, a, b)| span("x", lane, a.min(b), a.max(b))).collect();
            totals(&spans);
            pieces(&spans);
        }
    }
}
