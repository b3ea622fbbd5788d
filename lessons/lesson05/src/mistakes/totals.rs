use canopy::profile::{Kind, Total};
use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "The self time still includes the time of the child spans.",
        totals: |s| added(s, Adding { inclusive: true, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Grandchildren are subtracted as well: subtract only direct children, or their time is subtracted twice.",
        totals: |s| added(s, Adding { all_below: true, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "`total` and `own` are swapped.",
        totals: |s| added(s, ADDING).into_iter().map(|t| Total { total: t.own, own: t.total, ..t }).collect()),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Children are subtracted from `total` as well: only the self time is without them.",
        totals: |s| added(s, ADDING).into_iter().map(|t| Total { total: t.own, ..t }).collect()),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "The times are divided: they are asked for in nanoseconds, as the spans have them.",
        totals: |s| added(s, ADDING).into_iter().map(|t| Total { total: t.total / 1000, own: t.own / 1000, ..t }).collect()),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Child spans are expected before their parents, as guards end them; the list is in any order.",
        totals: |s| added(s, Adding { sorted: Sorted::AsEnded, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Only the outermost spans have rows: every name has one.",
        totals: |s| added(s, Adding { leaves_out: |t| t.name != "step", ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "A span within any other adds nothing to the total here; that is so within a span of the same name only.",
        totals: |s| added(s, Adding { again: Again::Any, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Only the outermost spans are counted as calls; every span is one.",
        totals: |s| with_totals(s, Adding { again: Again::Any, outer_calls: true, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Spans are left out because of their kind; all kinds count here.",
        totals: |s| added(s, Adding { skips: |s| s.kind == Kind::Kernel, ..ADDING })),
    wrong!("5.1", sums_spans_of_the_same_name,
        "A later span replaces the earlier ones of its name; add it to them.",
        totals: |s| added(s, Adding { last: true, ..ADDING })),
    wrong!("5.1", sums_spans_of_the_same_name,
    "A name's total goes from the start of its first span to the end of its last one, gaps included: add up its spans.",
    totals: |s| {
        let mut all = added(s, ADDING);
        for t in &mut all {
            let of = || s.iter().filter(|s| s.name == t.name);
            let end = of().map(|s| s.end).max().unwrap_or(0);
            t.total = end - of().map(|s| s.start).min().unwrap_or(0);
        }
        all
    }),
    wrong!("5.1", sums_spans_of_the_same_name,
        "It panics without any span; the list is then empty.",
        totals: |s| { assert!(!s.is_empty(), "no spans"); added(s, ADDING) }),
    wrong!("5.1", counts_recursive_time_once,
        "If a name lies within itself, its total counts that time twice: the outermost span already includes it.",
        totals: |s| added(s, Adding { again: Again::Always, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "Only the direct parent is compared: a span of the same name may be further out.",
        totals: |s| added(s, Adding { again: Again::Directly, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "When an inner span of a name ends, the outer one of that name is still open: count the open spans of each name.",
        totals: |s| added(s, Adding { again: Again::Forgotten, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "A span within another one of the same name still counts as a call.",
        totals: |s| added(s, Adding { outer_calls: true, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "A span within another one of the same name is left out of the self time too; it adds nothing to the total only.",
        totals: |s| added(s, Adding { outer_own: true, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "A span within another one of the same name is skipped altogether: it adds nothing to the total, but it is a call and has a self time.",
        totals: |s| added(s, Adding { outer_own: true, outer_calls: true, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "A child of the same name is not subtracted from its parent; it is a child like any other.",
        totals: |s| added(s, Adding { keeps_same: true, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
    "The self time is computed from the total of the name, which leaves out spans within themselves: subtract children from their own parent span.",
    totals: |s| {
        let (once, all) = (added(s, ADDING), added(s, Adding { again: Again::Always, ..ADDING }));
        let every = |name: &str| all.iter().find(|t| t.name == name).map_or(0, |t| t.total);
        let own = |t: &Total| (t.own + t.total).saturating_sub(every(&t.name));
        let mut rows: Vec<Total> = once.iter().map(|t| Total { own: own(t), ..t.clone() }).collect();
        rows.sort_by(ADDING.order);
        rows
    }),
    wrong!("5.1", accepts_spans_in_any_order,
        "The list is assumed to be sorted by start: spans are often recorded when they end, innermost first.",
        totals: |s| added(s, Adding { sorted: Sorted::AsListed, ..ADDING })),
    wrong!("5.1", accepts_spans_in_any_order,
        "The list is assumed to be sorted by start; it is in any order, often innermost first.",
        totals: |s| added(s, Adding { sorted: Sorted::AsListed, loose: true, ..ADDING })),
    wrong!("5.1", accepts_spans_in_any_order,
        "A self time becomes negative: the list is assumed to be sorted by start, but it is in any order.",
        totals: |s| { assert!(s.is_sorted_by_key(|s| s.start), "attempt to subtract with overflow"); added(s, ADDING) }),
    wrong!("5.1", separates_threads,
        "The spans of all lanes are sorted together, so that those of one lane close those of another: sort by lane first.",
        totals: |s| added(s, Adding { sorted: Sorted::ByTime, ..ADDING })),
    wrong!("5.1", separates_threads,
        "A span contains one of another lane: spans of other threads are not its children.",
        totals: |s| added(s, Adding { one_lane: true, ..ADDING })),
    wrong!("5.1", separates_threads,
        "The last spans of a lane are still open when the next lane begins, and contain its spans: close them first.",
        totals: |s| added(s, Adding { stays_open: true, ..ADDING })),
    wrong!("5.1", separates_threads,
        "When the next lane begins, the names of the last lane still count as open, so that its spans seem to lie within them: start each lane with no open name.",
        totals: |s| added(s, Adding { again: Again::OverLanes, ..ADDING })),
    wrong!("5.1", separates_threads,
        "A name has a row for each lane; the lanes are added to the same row.",
        totals: |s| added(s, Adding { by_lane: true, ..ADDING })),
    wrong!("5.1", separates_threads,
        "Only one lane is counted; the spans of all lanes are added to the same names.",
        totals: |s| added(s, Adding { skips: |s| s.lane != 0, ..ADDING })),
    wrong!("5.1", accepts_adjacent_spans,
        "A span that starts or ends at the same time as another one can still lie within it.",
        totals: |s| added(s, Adding { strictly: true, ..ADDING })),
    wrong!("5.1", accepts_adjacent_spans,
        "Of two spans with the same start, the longer one contains the other, whichever is first in the list: sort it before the other.",
        totals: |s| added(s, Adding { sorted: Sorted::ByStart, ..ADDING })),
    wrong!("5.1", accepts_adjacent_spans,
        "Of two spans with the same start, the shorter one is taken for the parent here: sort the longer one before it.",
        totals: |s| added(s, Adding { sorted: Sorted::ByStart, loose: true, ..ADDING })),
    wrong!("5.1", accepts_adjacent_spans,
        "A self time becomes negative: of two spans with the same start the longer one is the parent, and spans that touch lie next to each other.",
        totals: |s| { assert!(!s.iter().any(|a| s.iter().any(|b| a.lane == b.lane && a.end == b.start)), "attempt to subtract with overflow"); added(s, ADDING) }),
    wrong!("5.1", accepts_adjacent_spans,
        "A span that starts when another one ends lies next to it, not within it.",
        totals: |s| added(s, Adding { touching: true, ..ADDING })),
    wrong!("5.1", accepts_adjacent_spans,
        "Names without self time have no row; every name has one.",
        totals: |s| added(s, Adding { leaves_out: |t| t.own == 0, ..ADDING })),
    wrong!("5.1", nests_equal_spans_in_list_order,
        "Of two spans that cover the same time, the first in the list contains the other, not the last.",
        totals: |s| added(s, Adding { sorted: Sorted::LastContains, ..ADDING })),
    wrong!("5.1", nests_equal_spans_in_list_order,
    "The sort is not stable: of spans that cover the same time, it must keep the first in the list first.",
    totals: |s| {
        let mut spans: Vec<_> = s.iter().collect();
        spans.sort_unstable_by_key(|s| (s.lane, s.start, std::cmp::Reverse(s.end)));
        added(&spans.into_iter().cloned().collect::<Vec<_>>(), ADDING)
    }),
    wrong!("5.1", counts_spans_of_no_length,
        "Spans of no length are left out; each is a call.",
        totals: |s| added(s, Adding { skips: |s| s.duration() == 0, ..ADDING })),
    wrong!("5.1", is_exact_for_long_times,
        "The times are computed in f64 or f32, which round long ones: whole nanoseconds are u64.",
        totals: |s| added(s, ADDING).into_iter().map(|t| Total { total: t.total as f64 as u64, own: t.own as f64 as u64, ..t }).collect()),
    wrong!("5.1", is_exact_for_long_times,
        "The times do not fit into 32 bits, which hold 4 seconds: use u64.",
        totals: |s| added(s, ADDING).into_iter().map(|t| Total { total: u64::from(t.total as u32), own: u64::from(t.own as u32), ..t }).collect()),
    wrong!("5.1", sorts_by_self_time,
        "The rows are sorted by total; sort them by self time.",
        totals: |s| added(s, Adding { order: |a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", sorts_by_self_time,
        "The smallest self time comes first; the greatest should.",
        totals: |s| added(s, Adding { order: |a, b| a.own.cmp(&b.own).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", sorts_by_self_time,
        "Rows of equal self time are not in the order of their names: sort them by name, a before z.",
        totals: |s| added(s, Adding { order: |a, b| b.own.cmp(&a.own).then_with(|| b.name.cmp(&a.name)), ..ADDING })),
    wrong!("5.1", sorts_by_self_time,
        "Rows of equal self time are not in the order of their names: sort them by name, a before z.",
        totals: |s| added(s, Adding { order: |a, b| (b.own, b.total).cmp(&(a.own, a.total)).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", sorts_by_self_time,
        "The rows are sorted by name; sort them by self time first.",
        totals: |s| added(s, Adding { order: |a, b| a.name.cmp(&b.name), ..ADDING })),
];

/// The right rows, but for the calls.
fn with_totals(spans: &[canopy::profile::Span], how: Adding) -> Vec<Total> {
    let calls = |t: &Total| {
        added(spans, how)
            .iter()
            .find(|o| o.name == t.name)
            .map_or(0, |o| o.calls)
    };
    let rows = added(spans, ADDING).into_iter();
    rows.map(|t| Total {
        calls: calls(&t),
        ..t
    })
    .collect()
}
