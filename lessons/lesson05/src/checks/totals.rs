use std::collections::BTreeMap;

use canopy::profile::{Kind, Span, Total};
use grader::{Case, Draw, Verdict, draw, given};

use crate::Lesson05;

fn span(name: &'static str, lane: usize, start: usize, end: usize) -> Span {
    Span::new(name, Kind::Other, lane, start as u64, end as u64)
}

fn shown(spans: &[Span]) -> Case {
    let list: Vec<String> = spans
        .iter()
        .map(|s| format!("{} {}–{} (lane {})", s.name, s.start, s.end, s.lane))
        .collect();
    given(list.join(", "))
}

/// Instant by instant: who is innermost there, and which names are open.
fn long_way(spans: &[Span]) -> BTreeMap<String, Total> {
    let mut by_name: BTreeMap<String, Total> = BTreeMap::new();
    for s in spans {
        let of = by_name.entry(s.name.to_string()).or_default();
        of.name = s.name.to_string();
        of.calls += 1;
    }
    let last = spans.iter().map(|s| s.end).max().unwrap_or(0);
    let lanes: std::collections::BTreeSet<usize> = spans.iter().map(|s| s.lane).collect();
    for (at, lane) in (0..last).flat_map(|at| lanes.iter().map(move |&l| (at, l))) {
        let here: Vec<&Span> = spans
            .iter()
            .filter(|s| s.lane == lane && s.start <= at && at < s.end)
            .collect();
        // Of spans equally long `min_by_key` gives the first; the innermost is the last in the list.
        if let Some(innermost) = here.iter().rev().min_by_key(|s| s.duration()) {
            by_name.entry(innermost.name.to_string()).or_default().own += 1;
        }
        let names: std::collections::BTreeSet<&str> = here.iter().map(|s| &*s.name).collect();
        for name in names {
            by_name.entry(name.to_owned()).or_default().total += 1;
        }
    }
    by_name
}

fn check(answer: &Lesson05, spans: &[Span]) -> Verdict {
    let case = shown(spans);
    let got = (answer.totals)(spans);
    for (name, expected) in long_way(spans) {
        let of: Vec<&Total> = got.iter().filter(|t| t.name == name).collect();
        let said = format!("{} rows of {name}", of.len());
        case.require(&format!("one row of '{name}'"), of.len() == 1, said)?;
        let Some(of) = of.first() else { continue };
        case.close(&format!("calls of '{name}'"), of.calls, expected.calls)?;
        case.close(&format!("total of '{name}'"), of.total, expected.total)?;
        case.close(&format!("self time of '{name}'"), of.own, expected.own)?;
    }
    Ok(())
}

/// `count` rising places from `from` on, at least 2 apart.
fn places(draw: &mut Draw, from: usize, count: usize) -> Vec<usize> {
    let mut at = from;
    let mut next = || {
        at += draw.whole(2, 9);
        at
    };
    (0..count).map(|_| next()).collect()
}

pub fn subtracts_direct_children_from_self_time(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 8);
    check(
        answer,
        &[
            span("step", 0, p[0], p[7]),
            span("forward", 0, p[1], p[4]),
            span("linear", 0, p[2], p[3]),
            span("backward", 0, p[5], p[6]),
        ],
    )
}

pub fn sums_spans_of_the_same_name(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 10);
    check(
        answer,
        &[
            span("step", 0, p[0], p[4]),
            span("read", 0, p[1], p[2]),
            span("step", 0, p[5], p[9]),
            span("read", 0, p[6], p[8]),
        ],
    )
}

pub fn counts_recursive_time_once(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 10);
    check(
        answer,
        &[
            span("walk", 0, p[0], p[9]),
            span("walk", 0, p[1], p[4]),
            span("read", 0, p[5], p[8]),
            span("walk", 0, p[6], p[7]),
        ],
    )
}

pub fn accepts_spans_in_any_order(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 8);
    // As guards end them: the innermost first.
    check(
        answer,
        &[
            span("linear", 0, p[2], p[3]),
            span("forward", 0, p[1], p[4]),
            span("backward", 0, p[5], p[6]),
            span("step", 0, p[0], p[7]),
        ],
    )
}

pub fn separates_threads(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 8);
    check(
        answer,
        &[
            span("step", 0, p[0], p[7]),
            span("load", 1, p[1], p[5]),
            span("decode", 1, p[2], p[4]),
            span("forward", 0, p[3], p[6]),
        ],
    )
}

pub fn accepts_adjacent_spans(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 6);
    check(
        answer,
        &[
            span("step", 0, p[0], p[3]),
            span("forward", 0, p[0], p[1]),
            span("backward", 0, p[1], p[3]),
            span("save", 0, p[3], p[5]),
            span("write", 0, p[3], p[5]),
        ],
    )
}

pub fn sorts_by_self_time(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (a, b) = (draw.whole(20, 30), draw.whole(5, 15));
    let spans = [
        span("step", 0, 0, a + 3 * b + 2),
        span("read", 0, 0, b),
        span("forward", 0, b, a + b),
        span("load", 0, a + b, a + 2 * b),
        span("copy", 0, a + 2 * b, a + 3 * b),
    ];
    let got: Vec<String> = (answer.totals)(&spans).into_iter().map(|t| t.name).collect();
    let expected = ["forward", "copy", "load", "read", "step"];
    shown(&spans).require(
        &format!("order: {}", expected.join(", ")),
        got == expected,
        got.join(", "),
    )
}
