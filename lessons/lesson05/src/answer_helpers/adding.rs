//! `totals` with switches.

use std::{
    cmp::{Ordering, Reverse},
    collections::HashMap,
};

use canopy::profile::{Span, Total};

/// What totals may do differently.
#[derive(Clone, Copy)]
pub struct Adding {
    /// In which order the spans are gone through, and what contains what.
    pub sorted: Sorted,
    /// All spans below one are subtracted from it, not only those directly below.
    pub all_below: bool,
    /// Nothing is subtracted.
    pub inclusive: bool,
    /// A span is not subtracted from a parent of its name.
    pub keeps_same: bool,
    /// Within which spans of its name a span adds nothing to the total.
    pub again: Again,
    /// A span within another of its name is no call.
    pub outer_calls: bool,
    /// A span within another of its name adds nothing to the self time either.
    pub outer_own: bool,
    /// Does not look at lanes.
    pub one_lane: bool,
    /// The spans of a lane that are still open contain those of the next lane.
    pub stays_open: bool,
    /// A name has a row in each lane.
    pub by_lane: bool,
    /// A span must begin after its parent, and end before it.
    pub strictly: bool,
    /// A span that begins where another ends lies within it.
    pub touching: bool,
    /// What starts before a span ends lies within it.
    pub loose: bool,
    /// A name's last span replaces those before it.
    pub last: bool,
    /// Spans that it leaves out.
    pub skips: fn(&Span) -> bool,
    /// Rows that it leaves out.
    pub leaves_out: fn(&Total) -> bool,
    /// The order of the result.
    pub order: fn(&Total, &Total) -> Ordering,
}

/// The order in which spans are gone through.
#[derive(Clone, Copy, PartialEq)]
pub enum Sorted {
    Right,
    /// Of two of the same time, the later one in the list contains the other.
    LastContains,
    /// By start only.
    ByStart,
    /// Right, but for the lane: the spans of different lanes take turns.
    ByTime,
    /// As they are listed.
    AsListed,
    /// As they are listed, inner spans first.
    AsEnded,
}

/// Where a span adds nothing to the total of its name.
#[derive(Clone, Copy, PartialEq)]
pub enum Again {
    /// Within any span of its name.
    Within,
    /// Within any span of any name.
    Any,
    /// Nowhere: it always counts.
    Always,
    /// Directly within a span of its name.
    Directly,
    /// Within one, until any inner span of that name has ended.
    Forgotten,
    /// Within one, also of another lane if it was still open when that lane ended.
    OverLanes,
}

pub const ADDING: Adding = Adding {
    sorted: Sorted::Right,
    all_below: false,
    inclusive: false,
    keeps_same: false,
    again: Again::Within,
    outer_calls: false,
    outer_own: false,
    one_lane: false,
    stays_open: false,
    by_lane: false,
    strictly: false,
    touching: false,
    loose: false,
    last: false,
    skips: |_| false,
    leaves_out: |_| false,
    order: |a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)),
};

/// With a stack of open spans.
pub fn added(spans: &[Span], how: Adding) -> Vec<Total> {
    let kept: Vec<&Span> = spans.iter().filter(|s| !(how.skips)(s)).collect();
    let order = in_order(&kept, how);
    let mut open: Vec<usize> = Vec::new();
    let mut around: HashMap<&str, usize> = HashMap::new();
    let mut parents = vec![None; kept.len()];
    let mut repeated = vec![false; kept.len()];
    for &i in &order {
        while let Some(&top) = open.last().filter(|&&top| !contains(kept[top], kept[i], how)) {
            open.pop();
            if let Some(count) = around.get_mut(&*kept[top].name) {
                *count = match how.again {
                    Again::Forgotten => 0,
                    Again::OverLanes if kept[top].lane != kept[i].lane => *count,
                    _ => count.saturating_sub(1),
                };
            }
        }
        parents[i] = open.last().copied();
        let count = around.entry(&kept[i].name).or_default();
        repeated[i] = match how.again {
            Again::Any => parents[i].is_some(),
            Again::Directly => parents[i].is_some_and(|p| kept[p].name == kept[i].name),
            _ => *count > 0,
        };
        *count += 1;
        open.push(i);
    }
    // From the innermost outwards: what lies within each span.
    let mut below = vec![0u64; kept.len()];
    for &i in order.iter().rev() {
        let Some(parent) = parents[i] else { continue };
        let deeper = if how.all_below { below[i] } else { 0 };
        if !(how.keeps_same && kept[i].name == kept[parent].name) {
            below[parent] += kept[i].duration() + deeper;
        }
    }
    let mut by_name: HashMap<(&str, usize), Total> = HashMap::new();
    for (i, span) in kept.iter().enumerate() {
        let lane = if how.by_lane { span.lane } else { 0 };
        let of = by_name.entry((&span.name, lane)).or_default();
        if how.last {
            *of = Total::default();
        }
        of.name = span.name.to_string();
        of.calls += usize::from(!(how.outer_calls && repeated[i]));
        if !(how.outer_own && repeated[i]) {
            of.own += span
                .duration()
                .saturating_sub(if how.inclusive { 0 } else { below[i] });
        }
        if how.again == Again::Always || !repeated[i] {
            of.total += span.duration();
        }
    }
    let mut all: Vec<Total> = by_name.into_values().filter(|t| !(how.leaves_out)(t)).collect();
    all.sort_by(how.order);
    all
}

fn in_order(spans: &[&Span], how: Adding) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let lane = |i: usize| if how.one_lane { 0 } else { spans[i].lane };
    let key = |i: usize| (lane(i), spans[i].start, Reverse(spans[i].end));
    match how.sorted {
        Sorted::Right => order.sort_by_key(|&i| (key(i), i)),
        Sorted::LastContains => order.sort_by_key(|&i| (key(i), Reverse(i))),
        Sorted::ByStart => order.sort_by_key(|&i| (lane(i), spans[i].start)),
        Sorted::ByTime => order.sort_by_key(|&i| (spans[i].start, Reverse(spans[i].end), i)),
        Sorted::AsListed => {}
        Sorted::AsEnded => order.reverse(),
    }
    order
}

fn contains(outer: &Span, inner: &Span, how: Adding) -> bool {
    let lanes = how.one_lane || how.stays_open || outer.lane == inner.lane;
    let time = if how.strictly {
        outer.start < inner.start && inner.end < outer.end
    } else if how.touching {
        outer.start <= inner.start && inner.start <= outer.end
    } else if how.loose {
        inner.start < outer.end
    } else {
        // In one lane, those before have started before.
        (how.stays_open || outer.start <= inner.start) && inner.end <= outer.end
    };
    lanes && time
}
