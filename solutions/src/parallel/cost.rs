//! The α–β model of communication (Hockney 1994; Thakur, Rabenseifner and Gropp 2005): a message of n bytes takes α + βn
//! seconds.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

// ANCHOR: Cost
/// Latency and inverse bandwidth of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Latency of a message, in seconds.
    pub alpha: f64,
    /// Inverse bandwidth, in seconds per byte.
    pub beta: f64,
}
// ANCHOR_END: Cost

impl Cost {
    /// Fits a line through messages given as `(bytes, seconds)` by least squares. Each message is weighted by 1/seconds²,
    /// so that short messages count as much as long ones. Both numbers are at least 0.
    ///
    /// # Errors
    /// Returns an error if there are fewer than two sizes, or if a time is not above 0.
    pub fn fit(points: &[(f64, f64)]) -> Result<Self> {
        ensure!(
            points.iter().all(|&(b, s)| b >= 0.0 && s > 0.0 && s.is_finite()),
            "cost: every message needs a size of at least 0 bytes and a finite time above 0"
        );
        let sizes = points.windows(2).any(|w| w[0].0 != w[1].0);
        ensure!(sizes, "cost: messages of at least two sizes are needed");
        let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(b, s)| f(b, s) / (s * s)).sum::<f64>();
        let (n, x, y) = (sum(&|_, _| 1.0), sum(&|b, _| b), sum(&|_, s| s));
        let (xx, xy) = (sum(&|b, _| b * b), sum(&|b, s| b * s));
        let beta = (n * xy - x * y) / (n * xx - x * x);
        let alpha = (y - beta * x) / n;
        // If one number is clamped to 0, the other is fitted alone.
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

/// Returns the time of a ring all-reduce of `bytes` over `p` ranks, in seconds: 2(p − 1) messages of `bytes`/p.
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    if p < 2 {
        return 0.0;
    }
    let p = p as f64;
    2.0 * (p - 1.0) * (cost.alpha + bytes / p * cost.beta)
}

/// Returns the time of a tree all-reduce of `bytes` over `p` ranks, in seconds: 2⌈log₂ p⌉ messages of `bytes`, one after
/// another.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    let levels = p.max(1).next_power_of_two().trailing_zeros();
    2.0 * f64::from(levels) * (cost.alpha + bytes * cost.beta)
}

/// Returns the efficiency of weak scaling, `seconds_of_one`/`seconds`. The work of each rank stays the same as ranks are
/// added, so ideally a step takes as long as with one rank.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    seconds_of_one / seconds
}

/// Returns the efficiency of strong scaling, `seconds_of_one`/(`ranks`·`seconds`). The ranks share the same work, so
/// ideally a step takes 1/`ranks` of the time.
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    seconds_of_one / (ranks as f64 * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn fit_recovers_the_parameters_of_a_line_and_none_is_negative() {
        let line = |b: f64| (b, 3e-6 + b * 1e-10);
        let fitted = Cost::fit(&[8.0, 4096.0, 1e6, 1e8].map(line)).unwrap();
        assert_relative_eq!(fitted.alpha, 3e-6, max_relative = 1e-9);
        assert_relative_eq!(fitted.beta, 1e-10, max_relative = 1e-9);
        let falling = Cost::fit(&[(1.0, 2.0), (2.0, 1.0)]).unwrap();
        assert!(falling.alpha > 0.0 && falling.beta == 0.0);
        let steep = Cost::fit(&[(1.0, 1.0), (2.0, 4.0)]).unwrap();
        assert!(steep.alpha == 0.0 && steep.beta > 0.0);
        assert!(Cost::fit(&[(1.0, 1.0)]).is_err() && Cost::fit(&[(1.0, 0.0), (2.0, 1.0)]).is_err());
    }
}
