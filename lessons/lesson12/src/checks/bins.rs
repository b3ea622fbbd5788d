use grader::{Case, Draw, Values, Verdict, draw, given};

use super::shown;
use crate::Lesson12;

/// Exact: an edge is one of the values.
fn exactly(numbers: &[f64]) -> Values {
    Values::tensor(numbers.to_vec(), &[numbers.len()], "integer")
}

/// The edges by counting how many values are at or below each.
fn by_counting(values: &[f64], bins: usize) -> Vec<f64> {
    let n = values.len();
    let least = |i: usize| {
        let enough = |v: &&f64| values.iter().filter(|w| *w <= *v).count() * bins >= i * n;
        values
            .iter()
            .filter(enough)
            .copied()
            .fold(f64::INFINITY, f64::min)
    };
    let mut edges = vec![values.iter().copied().fold(f64::INFINITY, f64::min)];
    for i in 1..=bins {
        let edge = least(i);
        if edges.last() != Some(&edge) {
            edges.push(edge);
        }
    }
    edges
}

fn check_edges(answer: &Lesson12, values: &[f64], bins: usize) -> Verdict {
    let case = given(format!("values {}, {bins} bins", shown(values)));
    let got = (answer.quantile_bins)(values, bins);
    case.close("edges", exactly(&got), exactly(&by_counting(values, bins)))
}

/// Different numbers with two decimals, none an even distance from the next, ascending.
fn ascending(draw: &mut Draw, count: usize) -> Vec<f64> {
    let mut at = (draw.number(-5.0, 5.0) * 100.0).round();
    let mut next = || {
        at += draw.whole(11, 390) as f64;
        at / 100.0
    };
    (0..count).map(|_| next()).collect()
}

fn shuffled(draw: &mut Draw, mut list: Vec<f64>) -> Vec<f64> {
    for i in (1..list.len()).rev() {
        list.swap(i, draw.whole(0, i));
    }
    list
}

pub fn starts_at_the_least_and_ends_at_the_greatest_value(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let values = ascending(&mut draw, 5);
    check_edges(answer, &values, 1)?;
    for bins in [2, 3] {
        let values = ascending(&mut draw, 6);
        let case = given(format!("values {}, {bins} bins", shown(&values)));
        let got = (answer.quantile_bins)(&values, bins);
        let ends = [got.first(), got.last()].map(|v| v.copied().unwrap_or(f64::NAN));
        case.close(
            "first and last edge",
            exactly(&ends),
            exactly(&[values[0], values[5]]),
        )?;
    }
    check_edges(answer, &values[..2], 1)
}

pub fn fills_bins_equally(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for (count, bins) in [(11, 4), (9, 4), (12, 4), (12, 3), (10, 5), (10, 3), (7, 2)] {
        check_edges(answer, &ascending(&mut draw, count), bins)?;
    }
    Ok(())
}

pub fn sorts_the_values_first(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    check_edges(answer, &[3.5, -10.25, 20.0, -2.0, 3.25, 7.75, 3.75], 7)?;
    for (count, bins) in [(8, 4), (9, 2), (13, 5)] {
        let mut values = ascending(&mut draw, count);
        values.reverse();
        check_edges(answer, &values, bins)?;
        // Negative and of two digits: not in the order of their texts or absolute values.
        let values = shuffled(&mut draw, values);
        check_edges(answer, &values, bins)?;
    }
    Ok(())
}

pub fn merges_equal_edges(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let list = ascending(&mut draw, 5);
    let [a, b, c, d, e] = [list[0], list[1], list[2], list[3], list[4]];
    // Many of the least value, of one inside, and of the greatest.
    check_edges(answer, &[a, a, a, a, b, c, d, e], 4)?;
    check_edges(answer, &[a, b, c, c, c, c, c, d, e, e], 5)?;
    check_edges(answer, &[a, b, c, d, e, e, e, e], 4)?;
    check_edges(answer, &shuffled(&mut draw, vec![a, b, b, b, b, b, b, b]), 4)?;
    check_edges(answer, &[a, b], 6)?;
    // Near to each other, and not equal.
    check_edges(answer, &[a, a + 0.125, a + 0.25, a + 5.0], 4)?;
    check_edges(answer, &[a, a.next_up(), a + 0.25, a + 5.0], 4)
}

pub fn counts_with_integers(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // i/bins·n in floats is above the whole number in some of these: 0.07·100 is 7.000000000000001.
    for (count, bins) in [(100, 100), (50, 25), (49, 49), (60, 30)] {
        check_edges(answer, &ascending(&mut draw, count), bins)?;
    }
    Ok(())
}

pub fn accepts_more_bins_than_values(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for (count, bins) in [(3, 4), (3, 10), (5, 7), (2, 3)] {
        let values = ascending(&mut draw, count);
        let values = shuffled(&mut draw, values);
        check_edges(answer, &values, bins)?;
    }
    Ok(())
}

fn binned(edges: &[f64], values: &[f64]) -> (Case, Vec<usize>) {
    let case = given(format!(
        "edges {}, each of the values {}",
        shown(edges),
        shown(values)
    ));
    let bin = |&v: &f64| {
        let below = edges[1..edges.len() - 1].iter().filter(|e| **e < v);
        below.count()
    };
    (case, values.iter().map(bin).collect())
}

fn check_bins(answer: &Lesson12, edges: &[f64], values: &[f64]) -> Verdict {
    let (case, expected) = binned(edges, values);
    let got: Vec<usize> = values.iter().map(|&v| (answer.bin_of)(edges, v)).collect();
    case.close("bins", &got, &expected)
}

/// A value inside each bin.
fn inside(draw: &mut Draw, edges: &[f64]) -> Vec<f64> {
    let between = |w: &[f64]| w[0] + draw.number(0.2, 0.8) * (w[1] - w[0]);
    edges.windows(2).map(between).collect()
}

pub fn finds_the_bin_of_a_value(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for count in [5, 3, 9, 2] {
        let mut edges = ascending(&mut draw, count);
        // Of very different widths.
        if let Some(last) = edges.last_mut() {
            *last += 90.0;
        }
        let values = inside(&mut draw, &edges);
        check_bins(answer, &edges, &shuffled(&mut draw, values))?;
    }
    Ok(())
}

pub fn puts_an_edge_into_the_lower_bin(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for count in [5, 3, 7] {
        let edges = ascending(&mut draw, count);
        check_bins(answer, &edges, &edges[1..])?;
        // Next to an edge is not on it.
        let beside: Vec<f64> = edges[1..].iter().map(|e| e.next_up()).collect();
        check_bins(answer, &edges, &beside)?;
    }
    Ok(())
}

pub fn puts_values_outside_into_the_end_bins(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for count in [4, 2, 6] {
        let edges = ascending(&mut draw, count);
        let (low, high) = (edges[0], edges[count - 1]);
        check_bins(
            answer,
            &edges,
            &[low, low - 0.5, low - 1e9, high, high + 0.5, high + 1e9],
        )?;
    }
    Ok(())
}

pub fn bins_each_value_with_its_share(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let edges = ascending(&mut draw, 4);
    check_bins(answer, &edges, &[f64::NEG_INFINITY, f64::INFINITY])?;
    // The values from which the edges were: equally many in each bin.
    let values = ascending(&mut draw, 12);
    check_bins(answer, &by_counting(&values, 4), &values)?;
    // -0 and 0 are equal.
    check_bins(answer, &[-1.5, -0.0, 2.5], &[0.0, -0.0, f64::MIN_POSITIVE])
}
