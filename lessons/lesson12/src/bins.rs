//! 12.4: quantile bins.

use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson12, REFERENCE, answers};

/// Values, bins.
type Input = (Vec<f64>, usize);

fn edges(answer: &Lesson12, (values, bins): Input) -> Verdict {
    let of = |lesson: &Lesson12| Facts::default().items("edges", (lesson.quantile_bins)(&values, bins));
    let more = if values.len() > 24 { " …" } else { "" };
    let first = &values[..values.len().min(24)];
    given(format!("{} values {first:?}{more}, {bins} bins", values.len())).same(of(answer), of(&REFERENCE))
}

/// Finds the bins of values among edges.
fn bins(answer: &Lesson12, (edges, values): (Vec<f64>, Vec<f64>)) -> Verdict {
    let of = |lesson: &Lesson12| {
        let bins = values.iter().map(|&value| (lesson.bin_of)(&edges, value));
        Facts::default().items("bins", bins)
    };
    given(format!("edges {edges:?}, each of the values {values:?}")).same(of(answer), of(&REFERENCE))
}

/// Different numbers with two decimals, none an even distance from the next, ascending.
fn ascending(d: &mut Draw, count: usize) -> Vec<f64> {
    let mut at = (d.number(-5.0, 5.0) * 100.0).round();
    let mut next = || {
        at += d.whole(11, 390) as f64;
        at / 100.0
    };
    (0..count).map(|_| next()).collect()
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.4";
    by edges {
        starts_at_the_least_and_ends_at_the_greatest_value: "Edge 0 is the smallest value",
            "One bin has two edges: the least value, and the greatest one, `sorted[n - 1]`, as they are." => |d| {
            let reversed = ascending(d, 6).into_iter().rev().collect();
            vec![(ascending(d, 5), 1), (ascending(d, 2), 1), (reversed, 1)]
        };
        fills_bins_equally: "at least `i/bins` of all values do not exceed",
            "After the first, edge i is one of the sorted values, that of index `(i * n).div_ceil(bins) - 1`." =>
            |d| [(6, 2), (6, 3), (11, 4), (9, 4), (12, 4), (12, 3), (10, 5), (10, 3), (7, 2)]
                .map(|(count, bins)| (ascending(d, count), bins)).to_vec();
        sorts_the_values_first: "the ascending edges", "Sort a copy of the values first, with `f64::total_cmp`." => |d| {
            // Negative and of two digits: not in the order of their texts or absolute values.
            let mut all = vec![(vec![3.5, -10.25, 20.0, -2.0, 3.25, 7.75, 3.75], 6)];
            for (count, bins) in [(8, 4), (9, 2), (13, 5)] {
                let mut values = ascending(d, count);
                values.reverse();
                values.swap(0, count / 2);
                all.push((values, bins));
            }
            all
        };
        accepts_more_bins_than_values: "the smallest value that",
            "With more bins than values, the same rule holds, and every value is an edge, once." =>
            |d| [(3, 4), (3, 10), (5, 7), (2, 3), (2, 6)].map(|(count, bins)| (ascending(d, count), bins)).to_vec();
        merges_equal_edges: "without duplicates",
            "Count all values, also repeated ones. Of edges that are exactly equal, keep one: `dedup`." => |d| {
            let list = ascending(d, 5);
            let [a, b, c, d_, e] = [list[0], list[1], list[2], list[3], list[4]];
            vec![
                // Many of the least value, of one inside, and of the greatest.
                (vec![a, a, a, a, b, c, d_, e], 4),
                (vec![a, b, c, c, c, c, c, d_, e, e], 5),
                (vec![a, b, c, d_, e, e, e, e], 4),
                (vec![b, b, b, a, b, b, b, b], 4),
                // Near to each other, and not equal.
                (vec![a, a + 0.125, a + 0.25, a + 5.0], 4),
                (vec![a, a.next_up(), a + 0.25, a + 5.0], 4),
            ]
        };
        counts_with_integers: "at least `i/bins` of all values do not exceed",
            "A float is slightly above or below the whole number here: `(i * n).div_ceil(bins)` is exact." => |_| {
            // 0.07·100 is 7.000000000000001, and 9·(14/50) in floats is not 126/50.
            let counts = [(100, 100), (50, 25), (49, 49), (60, 30), (14, 50), (28, 50), (4000, 30)];
            counts.map(|(count, bins)| ((1..=count).map(f64::from).collect(), bins)).to_vec()
        };
    }
    by bins {
        finds_the_bin_of_a_value: "the index of the bin that contains `value`",
            "Of the edges between two bins, `edges[1..edges.len() - 1]`, count those below the value." => |d| {
            [5, 3, 9, 2].map(|count| {
                let mut edges = ascending(d, count);
                // Of very different widths.
                edges[count - 1] += 90.0;
                let values = edges.windows(2).map(|w| w[0] + d.number(0.2, 0.8) * (w[1] - w[0])).collect();
                (edges, values)
            }).to_vec()
        };
        puts_an_edge_into_the_lower_bin: "v <= edges[i + 1]",
            "Count the inner edges that are `<` the value: not those that are equal to it, and exactly." => |d| {
            // −0 is equal to 0.
            let mut all = vec![(vec![-1.5, -0.0, 2.5], vec![0.0, -0.0, f64::MIN_POSITIVE])];
            for count in [5, 3, 7] {
                let edges = ascending(d, count);
                // Next to an edge is not on it.
                let beside = edges[1..count - 1].iter().map(|edge| edge.next_up()).collect();
                all.extend([(edges.clone(), edges[1..].to_vec()), (edges, beside)]);
            }
            all
        };
        puts_values_outside_into_the_end_bins: "The first bin also contains all lower values",
            "Count inner edges only: then values outside, also infinite ones, are in bin 0 and in the last bin." => |d| {
            [4, 2, 6].map(|count| {
                let edges = ascending(d, count);
                let (low, high) = (edges[0], edges[count - 1]);
                (edges, vec![low, low - 0.5, low - 1e9, f64::NEG_INFINITY, high, high + 0.5, high + 1e9, f64::INFINITY])
            }).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.4" [quantile_bins, bin_of];
    1 "i·n/bins is rounded down; fewer than i/bins of the values may then be at or below the edge.";
    2 "The bins are equally wide; they must have equally many values.";
    3 "The values are not sorted.";
    4 "Equal edges remain: a bin without width has no density. `dedup` merges them.";
    5 "i/bins as a float may be too large, and its ceiling one too high: use `(i * n).div_ceil(bins)`.";
    6 "A value on an edge is in the bin below it: bin i contains its upper edge.";
    7 "A value above all edges is in a bin that does not exist; it is in the last one.";
};
