//! What a message costs (Hockney 1994; Thakur, Rabenseifner and Gropp 2005): α seconds to begin, β seconds a byte.

use anyhow::{Result, ensure};
use serde::Serialize;

/// A link's cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Seconds to begin a message.
    pub alpha: f64,
    /// Seconds a byte.
    pub beta: f64,
}

impl Cost {
    /// The least-squares line through messages of `(bytes, seconds)`, each weighed by 1/seconds², so that short messages
    /// count as much as long ones; neither number under 0.
    ///
    /// # Errors
    /// Fewer than two sizes, or times that are not above 0.
    pub fn fit(points: &[(f64, f64)]) -> Result<Self> {
        ensure!(
            points.iter().all(|&(b, s)| b >= 0.0 && s > 0.0 && s.is_finite()),
            "cost: every message needs bytes of 0 or more and seconds above 0"
        );
        let sizes = points.windows(2).any(|w| w[0].0 != w[1].0);
        ensure!(sizes, "cost: messages of at least two sizes are needed");
        let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(b, s)| f(b, s) / (s * s)).sum::<f64>();
        let (n, x, y) = (sum(&|_, _| 1.0), sum(&|b, _| b), sum(&|_, s| s));
        let (xx, xy) = (sum(&|b, _| b * b), sum(&|b, s| b * s));
        let beta = (n * xy - x * y) / (n * xx - x * x);
        let alpha = (y - beta * x) / n;
        // At a bound of zero the other number is the best on its own.
        Ok(match (alpha < 0.0, beta < 0.0) {
            (true, _) => Self {
                alpha: 0.0,
                beta: xy / xx,
            },
            (_, true) => Self {
                alpha: y / n,
                beta: 0.0,
            },
            _ => Self { alpha, beta },
        })
    }
}

/// Seconds of a ring all-reduce of `bytes` over `p` ranks: 2(p − 1) messages of `bytes`/p.
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    if p < 2 {
        return 0.0;
    }
    let p = p as f64;
    2.0 * (p - 1.0) * (cost.alpha + bytes / p * cost.beta)
}

/// Seconds of a tree all-reduce: 2⌈log₂ p⌉ messages of `bytes`, one after another.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    let levels = p.max(1).next_power_of_two().trailing_zeros();
    2.0 * f64::from(levels) * (cost.alpha + bytes * cost.beta)
}

/// Seconds where one rank adds for all: 2(p − 1) messages of `bytes`, all of them its own.
pub fn naive_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    2.0 * p.saturating_sub(1) as f64 * (cost.alpha + bytes * cost.beta)
}

/// How much of `ranks` machines' work is used: `rate` over `ranks` times the rate of one (weak and strong scaling alike,
/// where rate counts records a second).
pub fn scaling_efficiency(rate_of_one: f64, rate: f64, ranks: usize) -> f64 {
    rate / (rate_of_one * ranks as f64)
}

/// Weak scaling: each rank's work stays the same as ranks are added, so the step should take as long as one rank's;
/// `seconds_of_one`/`seconds`.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    seconds_of_one / seconds
}

/// Strong scaling: the same work is shared by more ranks, so the step should take the `ranks`-th part;
/// `seconds_of_one`/(`ranks`·`seconds`).
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    seconds_of_one / (ranks as f64 * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn a_line_is_found_again() {
        let true_cost = Cost {
            alpha: 3e-6,
            beta: 1e-10,
        };
        let of = |b: f64| (b, true_cost.alpha + b * true_cost.beta);
        let found = Cost::fit(&[of(8.0), of(4096.0), of(1e6), of(1e8)]).expect("four sizes");
        assert_relative_eq!(found.alpha, true_cost.alpha, max_relative = 1e-9);
        assert_relative_eq!(found.beta, true_cost.beta, max_relative = 1e-9);
    }

    #[test]
    fn neither_number_falls_below_zero() {
        let falling = Cost::fit(&[(1.0, 2.0), (2.0, 1.0)]).expect("two sizes");
        assert!(falling.alpha > 0.0 && falling.beta == 0.0);
        let steep = Cost::fit(&[(1.0, 1.0), (2.0, 4.0)]).expect("two sizes");
        assert!(steep.alpha == 0.0 && steep.beta > 0.0);
        assert!(Cost::fit(&[(1.0, 1.0)]).is_err() && Cost::fit(&[(1.0, 0.0), (2.0, 1.0)]).is_err());
    }

    #[test]
    fn efficiencies_agree_with_the_rates() {
        // 3 ranks, 4 s where one took 10 s over the same work; 12 s where each has the work of one.
        assert_relative_eq!(strong_efficiency(10.0, 4.0, 3), scaling_efficiency(0.1, 0.25, 3));
        assert_relative_eq!(weak_efficiency(10.0, 12.0), scaling_efficiency(0.1, 0.25, 3));
    }

    #[test]
    fn the_ring_is_for_long_messages_and_the_tree_for_short_ones() {
        let cost = Cost {
            alpha: 1e-5,
            beta: 1e-10,
        };
        assert!(ring_seconds(1024, 1e8, cost) < tree_seconds(1024, 1e8, cost));
        assert!(ring_seconds(1024, 1e3, cost) > tree_seconds(1024, 1e3, cost));
        assert_relative_eq!(
            ring_seconds(
                4,
                8.0,
                Cost {
                    alpha: 1.0,
                    beta: 1.0
                }
            ),
            6.0 * 3.0
        );
        assert_relative_eq!(
            tree_seconds(
                5,
                8.0,
                Cost {
                    alpha: 1.0,
                    beta: 1.0
                }
            ),
            6.0 * 9.0
        );
        for seconds in [ring_seconds, tree_seconds, naive_seconds] {
            assert_eq!(seconds(1, 1e6, cost), 0.0);
        }
    }
}
