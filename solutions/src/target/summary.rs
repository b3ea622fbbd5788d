//! From the probabilities of bins back to numbers.

// ANCHOR: Summary
/// A forecast in four numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The median: quantile ½.
    pub median: f64,
    /// The lower end of the central interval.
    pub lower: f64,
    /// The upper end of the central interval.
    pub upper: f64,
}
// ANCHOR_END: Summary

/// Summarises a distribution that has probability `probabilities[i]` in bin i, from `edges[i]` to `edges[i + 1]`, and is
/// uniform within a bin. The interval has probability `coverage`, and half of the rest is on each side of it.
///
/// The quantile q is the smallest value v with F(v) ≥ q, where F is the distribution function, which is linear within a
/// bin.
///
/// Expects strictly ascending edges, one more than probabilities, probabilities of at least 0 whose sum is 1 except for
/// rounding, and a coverage above 0 and below 1.
pub fn summarise(edges: &[f64], probabilities: &[f64], coverage: f64) -> Summary {
    let total: f64 = probabilities.iter().sum();
    let bins = edges.windows(2).zip(probabilities);
    let mean: f64 = bins.map(|(edge, p)| p * 0.5 * (edge[0] + edge[1])).sum();
    let quantile = |share: f64| quantile(edges, probabilities, share * total);
    Summary {
        mean: mean / total,
        median: quantile(0.5),
        lower: quantile(0.5 * (1.0 - coverage)),
        upper: quantile(0.5 * (1.0 + coverage)),
    }
}

/// The smallest value up to which the probabilities sum to `wanted`, which is above 0.
fn quantile(edges: &[f64], probabilities: &[f64], wanted: f64) -> f64 {
    let (mut below, mut end) = (0.0, f64::NAN);
    for (edge, &p) in edges.windows(2).zip(probabilities).filter(|(_, p)| **p > 0.0) {
        if below + p >= wanted {
            return edge[0] + (wanted - below) / p * (edge[1] - edge[0]);
        }
        below += p;
        end = edge[1];
    }
    // The sum was rounded down.
    end
}
