use std::collections::{BTreeMap, BTreeSet};

use canopy::profile::{Kind, Span, Total};
use grader::{Draw, Verdict, draw, given};

use super::refuse::{refuse, two};
use crate::Lesson05;

fn span(name: &'static str, lane: usize, start: usize, end: usize) -> Span {
    Span::new(name, Kind::Other, lane, start as u64, end as u64)
}

fn shown(spans: &[Span]) -> String {
    let list: Vec<String> = spans
        .iter()
        .map(|s| format!("{} {}–{} (lane {})", s.name, s.start, s.end, s.lane))
        .collect();
    list.join(", ")
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
    let lanes: BTreeSet<usize> = spans.iter().map(|s| s.lane).collect();
    for (at, lane) in (0..last).flat_map(|at| lanes.iter().map(move |&l| (at, l))) {
        let here: Vec<&Span> = spans
            .iter()
            .filter(|s| s.lane == lane && s.start <= at && at < s.end)
            .collect();
        // Of spans equally long `min_by_key` gives the first; the innermost is the last in the list.
        if let Some(innermost) = here.iter().rev().min_by_key(|s| s.duration()) {
            by_name.entry(innermost.name.to_string()).or_default().own += 1;
        }
        let names: BTreeSet<&str> = here.iter().map(|s| &*s.name).collect();
        for name in names {
            by_name.entry(name.to_owned()).or_default().total += 1;
        }
    }
    by_name
}

fn check(answer: &Lesson05, spans: &[Span]) -> Verdict {
    check_against(answer, spans, long_way(spans))
}

fn check_against(answer: &Lesson05, spans: &[Span], expected: BTreeMap<String, Total>) -> Verdict {
    let input = shown(spans);
    given(&input);
    compare(input, &(answer.totals)(spans), expected)
}

/// Compares the rows of all names, in any order.
fn compare(input: String, got: &[Total], mut expected: BTreeMap<String, Total>) -> Verdict {
    for total in got {
        expected.entry(total.name.clone()).or_default();
    }
    let text = |t: &Total| {
        let Total {
            name,
            calls,
            total,
            own,
        } = t;
        format!("{name}: calls {calls}, total {total}, own {own}")
    };
    let (mut lines, mut all) = (Vec::new(), Vec::new());
    for (name, row) in &expected {
        let rows: Vec<&Total> = got.iter().filter(|t| t.name == *name).collect();
        let sum = |of: fn(&Total) -> u64| rows.iter().map(|t| of(t) as f64).sum::<f64>();
        all.extend([
            rows.len() as f64,
            sum(|t| t.calls as u64),
            sum(|t| t.total),
            sum(|t| t.own),
        ]);
        let (wanted, found) = match (row.name.is_empty(), &rows[..]) {
            (false, [one]) if **one == *row => continue,
            (true, _) => (format!("no row '{name}'"), text(rows[0])),
            (false, []) => (text(row), format!("no row '{name}'")),
            (false, [one]) => (text(row), text(one)),
            (false, many) => (text(row), format!("{} rows '{name}'", many.len())),
        };
        if lines.len() < 6 {
            lines.extend(two(wanted, found));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    refuse(input, "the rows, in any order", lines, all)
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

/// In another order.
fn shuffled(draw: &mut Draw, spans: &[Span]) -> Vec<Span> {
    let mut rest = spans.to_vec();
    let mut out = Vec::new();
    while !rest.is_empty() {
        out.push(rest.remove(draw.whole(0, rest.len() - 1)));
    }
    out
}

pub fn subtracts_direct_children_from_self_time(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 8);
    let mut spans = [
        span("step", 0, p[0], p[7]),
        span("forward", 0, p[1], p[4]),
        span("linear", 0, p[2], p[3]),
        span("backward", 0, p[5], p[6]),
    ];
    check(answer, &spans)?;
    // The kind does not matter.
    let kinds = [Kind::Load, Kind::Launch, Kind::Kernel, Kind::Wait];
    for (span, kind) in spans.iter_mut().zip(kinds) {
        span.kind = kind;
    }
    check(answer, &spans)
}

pub fn sums_spans_of_the_same_name(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 12);
    check(
        answer,
        &[
            span("step", 0, p[0], p[4]),
            span("read", 0, p[1], p[2]),
            span("step", 0, p[5], p[11]),
            span("read", 0, p[6], p[8]),
            span("read", 0, p[9], p[10]),
        ],
    )?;
    check(answer, &[])
}

pub fn counts_recursive_time_once(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let p = places(&mut draw, 0, 14);
    // After the first inner one has ended, the outer one is still open. The last one has another name between.
    let spans = [
        span("walk", 0, p[0], p[9]),
        span("walk", 0, p[1], p[2]),
        span("walk", 0, p[3], p[3] + 1),
        span("read", 0, p[4], p[8]),
        span("walk", 0, p[5], p[7]),
        span("walk", 0, p[10], p[13]),
    ];
    check(answer, &spans)?;
    let deeper = [
        span("a", 0, p[0], p[13]),
        span("b", 0, p[1], p[12]),
        span("a", 0, p[2], p[11]),
        span("b", 0, p[3], p[10]),
        span("c", 0, p[4], p[9]),
        span("a", 0, p[5], p[6]),
        span("b", 0, p[7], p[8]),
    ];
    check(answer, &deeper)
}

pub fn accepts_spans_in_any_order(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let p = places(&mut draw, 0, 12);
    // As guards end them: the innermost first.
    let ended = [
        span("linear", 0, p[2], p[3]),
        span("forward", 0, p[1], p[4]),
        span("step", 0, p[6], p[7]),
        span("backward", 0, p[5], p[8]),
        span("step", 0, p[0], p[9]),
        span("save", 0, p[10], p[11]),
    ];
    check(answer, &ended)?;
    // By their starts, the last first.
    let mut late = ended.to_vec();
    late.sort_by_key(|s| std::cmp::Reverse(s.start));
    check(answer, &late)?;
    for _ in 0..4 {
        check(answer, &shuffled(&mut draw, &ended))?;
    }
    Ok(())
}

pub fn separates_threads(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let p = places(&mut draw, 0, 10);
    // The spans of the one lane lie within those of the other, which comes first here and last there.
    for (outer, inner) in [(0, 1), (3, 2)] {
        check(
            answer,
            &[
                span("step", outer, p[0], p[9]),
                span("load", inner, p[1], p[4]),
                span("decode", inner, p[2], p[3]),
                span("forward", outer, p[5], p[8]),
            ],
        )?;
    }
    // The same name in both: neither lies within the other.
    let same = [
        span("read", 0, p[0], p[7]),
        span("read", 1, p[1], p[4]),
        span("parse", 1, p[2], p[3]),
        span("parse", 0, p[5], p[6]),
        span("read", 2, p[0], p[7]),
    ];
    check(answer, &same)?;
    check(answer, &shuffled(&mut draw, &same))
}

pub fn accepts_adjacent_spans(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 6);
    // Those of the same start: the inner one is first in the list.
    check(
        answer,
        &[
            span("forward", 0, p[0], p[2]),
            span("backward", 0, p[2], p[3]),
            span("step", 0, p[0], p[3]),
            span("save", 0, p[3], p[5]),
        ],
    )?;
    check(
        answer,
        &[
            span("step", 0, p[0], p[4]),
            span("linear", 0, p[0], p[1]),
            span("forward", 0, p[0], p[2]),
            span("linear", 0, p[1], p[2]),
            span("backward", 0, p[2], p[4]),
            span("linear", 0, p[3], p[4]),
        ],
    )
}

pub fn nests_equal_spans_in_list_order(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 4);
    for names in [["save", "write"], ["write", "save"]] {
        check(answer, &names.map(|name| span(name, 0, p[0], p[1])))?;
    }
    let three = [
        span("save", 0, p[0], p[3]),
        span("write", 0, p[1], p[2]),
        span("copy", 0, p[1], p[2]),
        span("save", 0, p[1], p[2]),
    ];
    check(answer, &three)?;
    // Many pairs: an unstable sort swaps some of the equal ones.
    let mut draw = draw();
    let at = |i: usize| span("save", 0, 10 * i, 10 * i + 7);
    let pairs = shuffled(&mut draw, &(0..40).map(at).collect::<Vec<_>>());
    let later = pairs.iter().map(|s| Span {
        name: "write".into(),
        ..s.clone()
    });
    let many: Vec<Span> = pairs.iter().cloned().chain(later).collect();
    check(answer, &many)
}

pub fn counts_spans_of_no_length(answer: &Lesson05) -> Verdict {
    let p = places(&mut draw(), 0, 8);
    let spans = [
        span("mark", 0, p[0], p[0]),
        span("mark", 0, p[2], p[2]),
        span("mark", 0, p[5], p[5]),
        span("step", 0, p[0], p[5]),
        span("forward", 0, p[0], p[2]),
        span("backward", 0, p[2], p[5]),
        span("mark", 0, p[6], p[7]),
        span("backward", 0, p[3], p[3]),
        span("log", 0, p[4], p[4]),
    ];
    check(answer, &spans)
}

pub fn is_exact_for_long_times(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let p = places(&mut draw, 0, 6);
    let spans = [
        span("step", 0, p[0], p[5]),
        span("forward", 0, p[1], p[2]),
        span("forward", 0, p[3], p[4]),
    ];
    // Seconds, and years.
    for unit in [1_000_000_007, 300_000_000_000_000_007] {
        let long = |s: &Span| Span {
            start: s.start * unit,
            end: s.end * unit,
            ..s.clone()
        };
        let mut expected = long_way(&spans);
        for total in expected.values_mut() {
            total.total *= unit;
            total.own *= unit;
        }
        check_against(answer, &spans.each_ref().map(long), expected)?;
    }
    Ok(())
}

pub fn sorts_by_self_time(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (a, b) = (draw.whole(20, 30), draw.whole(5, 15));
    let equal = ["read", "load", "copy", "free", "parse", "index", "wait", "log"];
    // The greatest total has the least self time; eight names have the same self time, and different totals.
    let mut spans = vec![span("forward", 0, 0, a)];
    let mut at = a;
    for (i, name) in equal.into_iter().enumerate() {
        let end = at + b + i + 1;
        spans.extend([span(name, 0, at, end), span("forward", 0, at + 1, at + i + 2)]);
        at = end;
    }
    spans.push(span("step", 0, 0, at));
    let input = shown(&spans);
    given(&input);
    let rows = (answer.totals)(&spans);
    let by_self_time = rows.is_sorted_by(|a, b| a.own >= b.own);
    let got: Vec<String> = rows.into_iter().map(|t| t.name).collect();
    let mut expected = equal.to_vec();
    expected.sort_unstable();
    expected.insert(0, "forward");
    expected.push("step");
    if got == expected {
        return Ok(());
    }
    // A row that is missing is −1. If only equal rows are in another order, it may be that of a hash map: any.
    let place = |name: &&str| got.iter().position(|g| g == name).map_or(-1.0, |at| at as f64);
    let ends = got.len() == 10 && got[0] == "forward" && got[9] == "step";
    let all = match by_self_time && ends {
        true => vec![-2.0; 10],
        false => expected.iter().map(place).collect(),
    };
    refuse(
        input,
        "the order of the rows",
        two(expected.join(", "), got.join(", ")),
        all,
    )
}

pub fn adds_up_deep_and_many_spans(answer: &Lesson05) -> Verdict {
    // Few first: what is wrong there needs no patience.
    deep_and_many(answer, 3)?;
    deep_and_many(answer, 150_000)
}

fn deep_and_many(answer: &Lesson05, depth: usize) -> Verdict {
    let length = draw().whole(2, 9);
    let inner = depth * length;
    let input = format!(
        "{depth} spans 'outer', each within the one before, and in the last of them {depth} spans 'inner' of {length} ns, one \
         after the other"
    );
    given(&input);
    let outer = (0..depth).map(|i| span("outer", 0, i, 2 * depth + inner - i));
    let many = (0..depth).map(|i| span("inner", 0, depth + i * length, depth + (i + 1) * length));
    // As guards end them.
    let mut spans: Vec<Span> = outer.chain(many).collect();
    spans.reverse();
    let total = |name: &str, total: usize, own: usize| Total {
        name: name.into(),
        calls: depth,
        total: total as u64,
        own: own as u64,
    };
    let rows = [
        total("outer", 2 * depth + inner, 2 * depth),
        total("inner", inner, inner),
    ];
    let expected = rows.into_iter().map(|t| (t.name.clone(), t)).collect();
    compare(input, &(answer.totals)(&spans), expected)
}
