//! Spans grouped by their call stack, as a flame graph shows them.

use std::collections::BTreeMap;

use super::{Kind, Span, totals::parents};

/// All spans of one name with the same call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Their name.
    pub name: String,
    /// The kind of the first one.
    pub kind: Kind,
    /// The number of spans.
    pub calls: usize,
    /// Total time in nanoseconds.
    pub total: u64,
    /// The spans directly within, by name.
    pub children: Vec<Frame>,
}

/// The outermost frames of one lane's spans, by name. The order of frames says nothing about time; only their width has a
/// meaning (Gregg 2016).
pub fn flame(spans: &[Span]) -> Vec<Frame> {
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    let mut roots = Vec::new();
    for (i, parent) in parents(spans).into_iter().enumerate() {
        match parent {
            Some(parent) => within[parent].push(i),
            None => roots.push(i),
        }
    }
    frames(spans, &within, &roots, 0)
}

/// Deeper frames are left out: no picture shows them, and the recursion would overflow the stack.
const DEEPEST: usize = 200;

fn frames(spans: &[Span], within: &[Vec<usize>], level: &[usize], depth: usize) -> Vec<Frame> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &i in level.iter().filter(|_| depth <= DEEPEST) {
        by_name.entry(&spans[i].name).or_default().push(i);
    }
    let frame = |(name, of): (&str, Vec<usize>)| {
        let next: Vec<usize> = of.iter().flat_map(|&i| within[i].iter().copied()).collect();
        Frame {
            name: name.to_owned(),
            kind: spans[of[0]].kind,
            calls: of.len(),
            total: of.iter().map(|&i| spans[i].duration()).sum(),
            children: frames(spans, within, &next, depth + 1),
        }
    };
    by_name.into_iter().map(frame).collect()
}
