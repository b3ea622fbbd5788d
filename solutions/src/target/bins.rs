//! Bins with equally many values: a number becomes a class.

/// The edges of `bins` bins, each with about equally many of `values`, by the empirical distribution function. Edge 0 is
/// the smallest value, and edge i is the smallest value v such that at least the share i/bins of all values is at most v:
/// of n sorted values, counted from 1, it is number ⌈i·n/bins⌉. The last edge is the greatest value.
///
/// Repeated values may give equal edges. These are one edge, so the result is strictly ascending and there may be fewer
/// bins.
///
/// Expects finite values, of which at least two are different, and at least one bin.
pub fn quantile_bins(values: &[f64], bins: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // In integers: i/bins·n in floating point may be just above a whole number.
    let upper = (1..=bins).map(|i| (i * n).div_ceil(bins));
    let mut edges: Vec<f64> = sorted.first().copied().into_iter().collect();
    edges.extend(upper.filter_map(|number| sorted.get(number.checked_sub(1)?)));
    edges.dedup();
    edges
}

/// The bin of `value` among those of strictly ascending `edges`, one more than the bins: bin i has the values above edge
/// i and up to edge i + 1, as the distribution function counts them; the first bin has its lower edge as well. A value
/// below all edges is in the first bin, a value above all edges in the last one.
pub fn bin_of(edges: &[f64], value: f64) -> usize {
    let inner = match edges {
        [_, inner @ .., _] => inner,
        _ => &[],
    };
    inner.partition_point(|edge| *edge < value)
}
