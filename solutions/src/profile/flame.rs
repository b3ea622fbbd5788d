//! Spans put together by who called whom, as a flame graph shows them.

use super::{Kind, Span, totals::parents};

/// All spans of one name below the same spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Their name.
    pub name: String,
    /// What their time goes to: that of the first.
    pub kind: Kind,
    /// How many.
    pub calls: usize,
    /// Nanoseconds in all.
    pub total: u64,
    /// What lies directly within, by name.
    pub children: Vec<Frame>,
}

/// The frames of one lane's spans that lie in no other, by name. Where a frame stands says nothing of when it was: width
/// alone counts (Gregg 2016).
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

/// Frames that lie deeper are left out: no picture shows them, and the stack would end.
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
    fn spans_of_one_name_below_the_same_are_one_frame() {
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
    fn a_very_deep_stack_does_not_end_the_program() {
        let deep: Vec<Span> = (0..5000)
            .map(|i| Span::new("f", Kind::Other, 0, i, 20_000 - i))
            .collect();
        assert_eq!(flame(&deep)[0].total, 20_000);
    }
}
