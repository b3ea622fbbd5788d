//! Known wrong answers to exercise 12.4.

use super::*;

/// The edges, changed.
fn with(values: &[f64], bins: usize, change: impl Fn(&mut Vec<f64>)) -> Vec<f64> {
    let mut edges = (REFERENCE.quantile_bins)(values, bins);
    change(&mut edges);
    edges
}

/// The value at a fractional place of the sorted values, counted from 0.
fn between(list: &[f64], place: f64) -> f64 {
    let place = place.clamp(0.0, (list.len() - 1) as f64);
    let low = place.floor() as usize;
    let high = (low + 1).min(list.len() - 1);
    list[low] + (place - low as f64) * (list[high] - list[low])
}

pub const EDGES: &[Mistake<Lesson12>] = &[
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "The first edge is missing: k bins have k + 1 edges.",
        quantile_bins: |v, b| with(v, b, |e| { e.remove(0); })),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "The last edge is missing: k bins have k + 1 edges.",
        quantile_bins: |v, b| with(v, b, |e| { e.pop(); })),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "Only the edges between the bins are returned; the least and the greatest value are edges, too.",
        quantile_bins: |v, b| with(v, b, |e| { e.remove(0); e.pop(); })),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "The outer edges are infinite; they are the least and the greatest value.",
    quantile_bins: |v, b| with(v, b, |e| {
        e[0] = f64::NEG_INFINITY;
        *e.last_mut().unwrap() = f64::INFINITY;
    })),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "The outer edges are moved a little outwards; they are the least and the greatest value.",
    quantile_bins: |v, b| with(v, b, |e| {
        e[0] -= 1e-6;
        *e.last_mut().unwrap() += 1e-6;
    })),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "The first edge is 0; it is the least value.",
        quantile_bins: |v, b| with(v, b, |e| e[0] = 0.0)),
    wrong!("12.4", fills_bins_equally, "The bins are equally wide; they must have equally many values.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let (low, high) = (list[0], list[list.len() - 1]);
        let mut edges: Vec<f64> = (0..b).map(|i| low + i as f64 * (high - low) / b as f64).collect();
        edges.push(high);
        edges
    }),
    wrong!("12.4", fills_bins_equally, "Edge i is one value too high: of the sorted values, counted from 0, it is number ⌈i·n/bins⌉ − 1.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| (i * n).div_ceil(b))),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "Value number ⌈i·n/bins⌉ is counted from 1: its index is one less, and n is beyond the list.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let n = list.len();
        let mut edges = vec![list[0]];
        edges.extend((1..=b).map(|i| list[(i * n).div_ceil(b)]));
        edges.dedup();
        edges
    }),
    wrong!("12.4", starts_at_the_least_and_ends_at_the_greatest_value, "Edge 0 is not value number 0: 0 − 1 panics. It is the least value.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let n = list.len();
        let mut edges: Vec<f64> = (0..=b).map(|i| list[(i * n).div_ceil(b).checked_sub(1).expect("attempt to subtract with overflow")]).collect();
        edges.dedup();
        edges
    }),
    wrong!("12.4", fills_bins_equally, "i·n/bins is rounded down; fewer than i/bins of the values may then be at or below the edge.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| (i * n / b).saturating_sub(1))),
    wrong!("12.4", fills_bins_equally, "Value number ⌈i·n/bins⌉, counted from 1, has the index ⌈i·n/bins⌉ − 1; ⌊i·n/bins⌋ is one more if bins divides i·n.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| i * n / b)),
    wrong!("12.4", fills_bins_equally, "i·n/bins is rounded to the nearest; fewer than i/bins of the values may then be at or below the edge. Round up.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| ((i * n) as f64 / b as f64).round().max(1.0) as usize - 1)),
    wrong!("12.4", fills_bins_equally, "An edge is interpolated between two values; it is one of the values.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let last = (list.len() - 1) as f64;
        let mut edges: Vec<f64> = (0..=b).map(|i| between(&list, i as f64 * last / b as f64)).collect();
        edges.dedup();
        edges
    }),
    wrong!("12.4", fills_bins_equally, "An edge is halfway between two values; it is one of the values.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let n = list.len();
        let mut edges = vec![list[0]];
        for i in 1..b {
            let at = (i * n).div_ceil(b).min(n - 1);
            edges.push(0.5 * (list[at - 1] + list[at]));
        }
        edges.push(list[n - 1]);
        edges.dedup();
        edges
    }),
    wrong!("12.4", fills_bins_equally, "⌊n/bins⌋ values are in each bin, and the rest is in the last one; spread the rest over the bins: ⌈i·n/bins⌉.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| if i == b { n - 1 } else { (i * (n / b)).saturating_sub(1) })),
    wrong!("12.4", fills_bins_equally, "⌈n/bins⌉ values are in each bin, and too few are left for the last ones; edge i is number ⌈i·n/bins⌉.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| i * n.div_ceil(b) - 1)),
    wrong!("12.4", fills_bins_equally, "The places are shares of n − 1 instead of n: count the values at or below an edge.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| (i * (n - 1)).div_ceil(b))),
    wrong!("12.4", fills_bins_equally, "`bins` edges make `bins` − 1 bins.",
        quantile_bins: |v, b| if b == 1 { (REFERENCE.quantile_bins)(v, 1) } else { (REFERENCE.quantile_bins)(v, b - 1) }),
    wrong!("12.4", sorts_the_values_first, "The values are not sorted.",
    quantile_bins: |v, b| {
        let n = v.len();
        let mut edges = vec![v[0]];
        edges.extend((1..=b).map(|i| v[(i * n).div_ceil(b) - 1]));
        edges.dedup();
        edges
    }),
    wrong!("12.4", sorts_the_values_first, "The values are sorted downwards.",
    quantile_bins: |v, b| {
        let mut list = sorted(v);
        list.reverse();
        let n = list.len();
        let mut edges = vec![list[0]];
        edges.extend((1..=b).map(|i| list[(i * n).div_ceil(b) - 1]));
        edges.dedup();
        edges
    }),
    wrong!("12.4", sorts_the_values_first, "The values are sorted by their absolute values.",
    quantile_bins: |v, b| {
        let mut list = v.to_vec();
        list.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let n = list.len();
        let mut edges = vec![list[0]];
        edges.extend((1..=b).map(|i| list[(i * n).div_ceil(b) - 1]));
        edges.dedup();
        edges
    }),
    wrong!("12.4", sorts_the_values_first, "The values are sorted as whole numbers, so that their decimals do not count.",
    quantile_bins: |v, b| {
        let mut list = v.to_vec();
        list.sort_by_key(|x| *x as i64);
        let n = list.len();
        let mut edges = vec![list[0]];
        edges.extend((1..=b).map(|i| list[(i * n).div_ceil(b) - 1]));
        edges.dedup();
        edges
    }),
    wrong!("12.4", merges_equal_edges, "Equal edges remain: a bin without width has no density. `dedup` merges them.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let n = list.len();
        std::iter::once(list[0]).chain((1..=b).map(|i| list[(i * n).div_ceil(b) - 1])).collect()
    }),
    wrong!("12.4", merges_equal_edges, "Repeated values are removed before they are counted; merge the edges instead.",
    quantile_bins: |v, b| {
        let mut list = sorted(v);
        list.dedup();
        (REFERENCE.quantile_bins)(&list, b)
    }),
    wrong!("12.4", merges_equal_edges, "Of equal edges none remains; one must.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let n = list.len();
        let all: Vec<f64> = std::iter::once(list[0]).chain((1..=b).map(|i| list[(i * n).div_ceil(b) - 1])).collect();
        let once = |x: &f64| all.iter().filter(|y| *y == x).count() == 1;
        all.iter().copied().filter(once).collect()
    }),
    wrong!("12.4", merges_equal_edges, "Equal edges are moved apart by a little; merge them.",
    quantile_bins: |v, b| {
        let list = sorted(v);
        let n = list.len();
        let mut edges = vec![list[0]];
        for i in 1..=b {
            let edge = list[(i * n).div_ceil(b) - 1];
            let last = *edges.last().unwrap();
            edges.push(if edge <= last { last + 1e-9 } else { edge });
        }
        edges
    }),
    wrong!("12.4", merges_equal_edges, "Edges that are near to each other are merged as well; merge equal ones only.",
    quantile_bins: |v, b| with(v, b, |e| e.dedup_by(|a, b| (*a - *b).abs() < 0.5))),
    wrong!("12.4", merges_equal_edges, "Edges that are very near to each other are merged as well; merge equal ones only.",
        quantile_bins: |v, b| with(v, b, |e| e.dedup_by(|a, b| (*a - *b).abs() < 1e-9))),
    wrong!("12.4", counts_with_integers, "i/bins as a float may be slightly too large, and the ceiling is then one too high. Count with integers: `(i * n).div_ceil(bins)`.",
        quantile_bins: |v, b| edges_at(v, b, |i, n| ((i as f64 / b as f64 * n as f64).ceil() as usize).max(1) - 1)),
    wrong!("12.4", accepts_more_bins_than_values, "With more bins than values, n/bins is 0, and chunks of 0 values panic. Pick value ⌈i·n/bins⌉ for each edge instead.",
    quantile_bins: |v, b| {
        let _ = v.chunks(v.len() / b).count();
        (REFERENCE.quantile_bins)(v, b)
    }),
    wrong!("12.4", accepts_more_bins_than_values, "⌊i·n/bins⌋ − 1 is negative for the first edges if there are more bins than values: round up.",
    quantile_bins: |v, b| {
        for i in 1..=b {
            let _ = (i * v.len() / b).checked_sub(1).expect("attempt to subtract with overflow");
        }
        (REFERENCE.quantile_bins)(v, b)
    }),
    wrong!("12.4", accepts_more_bins_than_values, "With more bins than values, only the least and the greatest value are returned.",
    quantile_bins: |v, b| {
        if b <= v.len() { return (REFERENCE.quantile_bins)(v, b); }
        let list = sorted(v);
        vec![list[0], list[list.len() - 1]]
    }),
    wrong!("12.4", accepts_more_bins_than_values, "With more bins than values, nothing is returned; each value is an edge then.",
        quantile_bins: |v, b| if b > v.len() { Vec::new() } else { (REFERENCE.quantile_bins)(v, b) }),
];

/// The number of inner edges that are `below` the value.
fn counted(edges: &[f64], below: impl Fn(f64) -> bool) -> usize {
    edges[1..edges.len() - 1].iter().filter(|e| below(**e)).count()
}

pub const BIN_OF: &[Mistake<Lesson12>] = &[
    wrong!("12.4", finds_the_bin_of_a_value, "The index is one too high: bin 0 is between the first two edges.",
        bin_of: |e, v| (REFERENCE.bin_of)(e, v) + 1),
    wrong!("12.4", finds_the_bin_of_a_value, "The nearest edge is returned, not the bin.",
    bin_of: |e, v| {
        let far = |i: &usize| (e[*i] - v).abs();
        (0..e.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap()
    }),
    wrong!("12.4", finds_the_bin_of_a_value, "The bin is computed as if all bins were equally wide.",
    bin_of: |e, v| {
        let bins = e.len() - 1;
        ((v - e[0]) / (e[bins] - e[0]) * bins as f64).clamp(0.0, bins as f64 - 1.0) as usize
    }),
    wrong!("12.4", finds_the_bin_of_a_value, "The edges above the value are counted; count those below.",
        bin_of: |e, v| e.len() - 2 - (REFERENCE.bin_of)(e, v)),
    wrong!("12.4", finds_the_bin_of_a_value, "The first inner edge is left out: the second bin is taken for the first.",
        bin_of: |e, v| (REFERENCE.bin_of)(e, v).saturating_sub(1)),
    wrong!("12.4", puts_an_edge_into_the_lower_bin, "A value on an edge is in the bin below it: bin i contains its upper edge.",
        bin_of: |e, v| counted(e, |edge| edge <= v)),
    wrong!("12.4", puts_an_edge_into_the_lower_bin, "A value next to an edge is taken for the edge: compare without a tolerance.",
        bin_of: |e, v| counted(e, |edge| edge + 1e-9 < v)),
    wrong!("12.4", puts_an_edge_into_the_lower_bin, "A value on an edge panics: no bin contains it, if both ends are left out. Bin i contains its upper edge.",
    bin_of: |e, v| {
        if v <= e[0] || v >= e[e.len() - 1] { return (REFERENCE.bin_of)(e, v); }
        e.windows(2).position(|w| w[0] < v && v < w[1]).unwrap()
    }),
    wrong!("12.4", puts_values_outside_into_the_end_bins, "A value above all edges is in a bin that does not exist; it is in the last one.",
        bin_of: |e, v| e[1..].iter().filter(|edge| **edge < v).count()),
    wrong!("12.4", puts_values_outside_into_the_end_bins, "All edges below the value are counted, and 1 is subtracted: at the first edge or below it there is none.",
        bin_of: |e, v| e[..e.len() - 1].partition_point(|edge| *edge < v).checked_sub(1).expect("attempt to subtract with overflow")),
    wrong!("12.4", puts_values_outside_into_the_end_bins, "A value outside the edges is in no bin here, and `unwrap` panics; it is in the first or in the last one.",
    bin_of: |e, v| {
        if v == e[0] { return 0; }
        e.windows(2).position(|w| w[0] < v && v <= w[1]).unwrap()
    }),
    wrong!("12.4", puts_values_outside_into_the_end_bins, "A value outside the edges is in the first bin, also if it is above them; then it is in the last one.",
    bin_of: |e, v| {
        if v == e[0] { return 0; }
        e.windows(2).position(|w| w[0] < v && v <= w[1]).unwrap_or(0)
    }),
    wrong!("12.4", puts_values_outside_into_the_end_bins, "A value outside the edges is in the last bin, also if it is below them; then it is in the first one.",
    bin_of: |e, v| {
        if v == e[0] { return 0; }
        e.windows(2).position(|w| w[0] < v && v <= w[1]).unwrap_or(e.len() - 2)
    }),
    wrong!("12.4", puts_values_outside_into_the_end_bins, "The first edge is in no bin here, and is put into the last one; the first bin contains it.",
    bin_of: |e, v| if v == e[0] { e.len() - 2 } else { (REFERENCE.bin_of)(e, v) }),
    wrong!("12.4", bins_each_value_with_its_share, "−∞ is put into the last bin: it is below all edges.",
        bin_of: |e, v| if v.is_infinite() { e.len() - 2 } else { (REFERENCE.bin_of)(e, v) }),
    wrong!("12.4", bins_each_value_with_its_share, "An infinite value panics; it is in the first or in the last bin.",
    bin_of: |e, v| {
        assert!(v.is_finite(), "not finite");
        (REFERENCE.bin_of)(e, v)
    }),
    wrong!("12.4", bins_each_value_with_its_share, "−0 is not 0 for `total_cmp`: use `<`.",
        bin_of: |e, v| counted(e, |edge| edge.total_cmp(&v).is_lt())),
];
