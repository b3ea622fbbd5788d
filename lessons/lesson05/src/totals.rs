//! 5.1: self time and total time.

use canopy::profile::{Kind, Span, parents};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

/// The spans of a lane, such as "step 0-3, forward 1-2", with indices of the times `t`. The kinds differ, which does
/// not matter.
fn spans(t: &[u64], lane: usize, text: &'static str) -> Vec<Span> {
    let index = |text: &str| text.parse::<usize>().unwrap_or(usize::MAX);
    let span = |(text, kind): (&'static str, Kind)| {
        let (name, times) = text.split_once(' ').unwrap_or_default();
        let (start, end) = times.split_once('-').unwrap_or_default();
        Span::new(name, kind, lane, t[index(start)], t[index(end)])
    };
    let kinds = Kind::ALL.into_iter().cycle();
    text.split(", ").zip(kinds).map(span).collect()
}

/// `count` rising times.
fn times(d: &mut Draw, count: u64) -> Vec<u64> {
    (0..count).map(|i| 20 * i + d.whole(1, 9) as u64).collect()
}

fn shuffled(d: &mut Draw, spans: &[Span]) -> Vec<Span> {
    let mut all = spans.to_vec();
    (1..all.len()).for_each(|i| all.swap(i, d.whole(0, i)));
    all
}

fn shown(spans: &[Span]) -> String {
    let one = |s: &Span| format!("{} {}–{} (lane {})", s.name, s.start, s.end, s.lane);
    let first: Vec<String> = spans.iter().take(90).map(one).collect();
    format!("{} spans: {}", spans.len(), first.join(", "))
}

/// The rows whatever their order, then their order.
fn added(answer: &Lesson05, spans: Vec<Span>) -> Verdict {
    let parents = parents(&spans);
    let facts = |of: &Lesson05| {
        let rows = (of.totals)(&spans, &parents).into_iter();
        let rows: Vec<_> = rows
            .map(|row| (row.name, row.calls, row.total, row.own))
            .collect();
        let mut by_name = rows.clone();
        by_name.sort();
        Facts::default()
            .items("rows by name: calls, total, own", by_name)
            .items("names in order", rows.into_iter().map(|row| row.0))
            .cause("Sort the rows by self time, the greatest first, and those of equal self time by name, a before z.")
            .asked("by descending self time")
    };
    given(shown(&spans)).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.1";
    by added {
        subtracts_direct_children_from_self_time: "One `Total` per name",
            "Each name of any kind has a row: its calls, their time, and that minus their direct children's." =>
            |d| vec![spans(&times(d, 8), 0, "step 0-7, forward 1-4, linear 2-3, backward 5-6")];
        sums_spans_of_the_same_name: "One `Total` per name",
            "Add up calls, times and self times of all spans of a name, in all lanes; without spans, the list is empty." => |d| {
            let t = times(d, 10);
            let lanes = ["read 0-7, parse 5-6", "read 1-4, parse 2-3", "read 0-7"];
            let lanes = [0, 1, 2].map(|lane| spans(&t, lane, lanes[lane])).concat();
            vec![spans(&t, 0, "step 0-3, read 1-2, step 4-9, read 5-6, read 7-8"), lanes, vec![]]
        };
        counts_recursive_time_once: "One `Total` per name",
            "A span within one of its name adds nothing to `total`, but it is a call and has a self time." => |d| {
            let t = times(d, 14);
            vec![
                // The third inner walk has a read around it.
                spans(&t, 0, "walk 0-10, walk 1-2, walk 3-4, read 5-9, walk 6-8, walk 11-13"),
                spans(&t, 0, "a 0-13, b 1-12, a 2-11, b 3-10, c 4-9, a 5-6, b 7-8"),
            ]
        };
        accepts_spans_in_any_order: "in any order",
            "A child may be listed before its parent: add up all times first, then subtract." => |d| {
            let t = times(d, 12);
            let ended = spans(&t, 0, "linear 2-3, forward 1-4, step 6-7, backward 5-8, step 0-9, save 10-11");
            let late = spans(&t, 0, "save 10-11, step 6-7, backward 5-8, linear 2-3, forward 1-4, step 0-9");
            [vec![ended.clone(), late], vec![ended; 4].iter().map(|spans| shuffled(d, spans)).collect()].concat()
        };
        counts_spans_of_no_length: "One `Total` per name",
            "A span of no length is a call like any other, wherever it lies." => |d| {
            let marks = "a 0-0, a 2-2, a 5-5, step 0-5, forward 0-2, backward 2-5, a 6-7, backward 3-3, log 4-4";
            vec![spans(&times(d, 8), 0, marks)]
        };
        is_exact_for_long_times: "One `Total` per name",
            "Compute with u64: 32 bits hold 4 seconds of nanoseconds, and floats round." => |d| {
            let t = times(d, 6);
            // Seconds, and years.
            let long = |unit: u64| t.iter().map(|t| t * unit).collect::<Vec<u64>>();
            let units = [1_000_000_007, 10_000_000_000_000_007];
            units.map(|unit| spans(&long(unit), 0, "step 0-5, forward 1-2, forward 3-4")).into()
        };
        sorts_by_self_time: "by descending self time", "" => |d| {
            let own = d.whole(5, 15) as u64;
            let span = |name: &'static str, start, time| Span::new(name, Kind::Other, 0, start, start + time);
            // The greatest total has the least self time. Eight names have the same self time and different totals.
            let mut all = vec![span("step", 0, 900), span("walk", 0, 899), span("forward", 0, 600)];
            for (name, i) in ["read", "load", "copy", "free", "parse", "index", "wait", "log"].into_iter().zip(1..) {
                all.extend([span(name, 1000 * i, own + i), span("forward", 1000 * i, i)]);
            }
            vec![all]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.1" totals;
    1 "The self time still includes the time of the children.";
    2 "A span within any other adds nothing to the total; that is so only within a span of the same name.";
    3 "If a name lies within itself, its total counts that time twice: the outermost span already includes it.";
    4 "Only the parent is compared: a span of the same name may be further out.";
    5 "A child of the same name is not subtracted from its parent; it is a child like any other.";
    6 "A span is subtracted from all spans around it: subtract it only from its parent.";
    7 "A span within one of its name adds nothing to the total, but it is a call and has a self time.";
};
