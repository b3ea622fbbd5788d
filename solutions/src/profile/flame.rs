//! Spans grouped by their call stack, as a flame graph shows them.

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
    let parents = parents(spans);
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    let mut roots = Vec::new();
    for (i, parent) in parents.iter().enumerate() {
        match parent {
            Some(p) => below[*p].push(i),
            None => roots.push(i),
        }
    }
    merged(spans, &below, &roots)
}

/// Deeper frames are left out: no picture shows them, and the recursion would overflow the stack.
const DEEPEST: usize = 200;

fn merged(spans: &[Span], below: &[Vec<usize>], level: &[usize]) -> Vec<Frame> {
    fn at(spans: &[Span], below: &[Vec<usize>], level: &[usize], depth: usize) -> Vec<Frame> {
        let mut names: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for &i in level {
            let place = *places.entry(&*spans[i].name).or_insert_with(|| {
                names.push((&spans[i].name, Vec::new()));
                names.len() - 1
            });
            names[place].1.push(i);
        }
        names.sort_by_key(|(name, _)| *name);
        let frame = |(name, of): (&str, Vec<usize>)| {
            let next: Vec<usize> = of.iter().flat_map(|&i| below[i].iter().copied()).collect();
            Frame {
                name: name.to_owned(),
                kind: spans[of[0]].kind,
                calls: of.len(),
                total: of.iter().map(|&i| spans[i].duration()).sum(),
                children: if depth < DEEPEST {
                    at(spans, below, &next, depth + 1)
                } else {
                    Vec::new()
                },
            }
        };
        names.into_iter().map(frame).collect()
    }
    at(spans, below, level, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_one_name_and_stack_are_one_frame() {
        let span = |name: &'static str, start, end| Span::new(name, Kind::Other, 0, start, end);
        let spans = [
            span("step", 0, 50),
            span("read", 0, 10),
            span("forward", 10, 50),
            span("step", 50, 90),
            span("forward", 55, 60),
            span("read", 90, 95),
        ];
        let frames = flame(&spans);
        let names = |frames: &[Frame]| -> Vec<(String, usize, u64)> {
            frames
                .iter()
                .map(|f| (f.name.clone(), f.calls, f.total))
                .collect()
        };
        assert_eq!(names(&frames), [("read".into(), 1, 5), ("step".into(), 2, 90)]);
        assert_eq!(
            names(&frames[1].children),
            [("forward".into(), 2, 45), ("read".into(), 1, 10)]
        );
    }

    #[test]
    fn a_very_deep_stack_does_not_overflow() {
        let deep: Vec<Span> = (0..5000)
            .map(|i| Span::new("f", Kind::Other, 0, i, 20_000 - i))
            .collect();
        assert_eq!(flame(&deep)[0].total, 20_000);
    }
}
