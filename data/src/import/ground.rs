//! Height of the ground between ground points (ASPRS class 2).

use anyhow::{Result, ensure};

/// Number of ground points that determine the ground at a place.
const NEIGHBOURS: usize = 8;

/// Ground points, from west to east.
pub struct Ground {
    /// Each with its number in the file, which decides between equally distant points.
    points: Vec<(usize, [f64; 3])>,
}

impl Ground {
    /// The ground through `points`, metres.
    ///
    /// # Errors
    /// Returns an error if there are no points.
    pub fn new(points: impl Iterator<Item = [f64; 3]>) -> Result<Self> {
        let mut points: Vec<(usize, [f64; 3])> = points.enumerate().collect();
        ensure!(
            !points.is_empty(),
            "no ground points (class 2), so no height above ground"
        );
        points.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
        Ok(Self { points })
    }

    /// Height of the ground at (x, y): the nearest ground points, weighted by the inverse square of their
    /// distance (Shepard 1968, "A two-dimensional interpolation function for irregularly-spaced data").
    pub fn height(&self, x: f64, y: f64) -> f64 {
        // Squared distance, number, height; the nearest first.
        let mut near: Vec<(f64, usize, f64)> = Vec::with_capacity(NEIGHBOURS + 1);
        // Returns false if this point and those beyond it are too far to the west or east.
        let mut consider = |&(number, p): &(usize, [f64; 3])| {
            let (dx, dy) = ((p[0] - x).powi(2), (p[1] - y).powi(2));
            let full = near.len() == NEIGHBOURS;
            let candidate = (dx + dy, number, p[2]);
            if !full || (candidate.0, number) < (near[NEIGHBOURS - 1].0, near[NEIGHBOURS - 1].1) {
                let place = near.partition_point(|n| (n.0, n.1) < (candidate.0, number));
                near.insert(place, candidate);
                near.truncate(NEIGHBOURS);
            }
            !full || dx <= near[NEIGHBOURS - 1].0
        };
        let (west, east) = self.points.split_at(self.points.partition_point(|p| p.1[0] < x));
        // `all` ends at the first point for which `consider` returns false.
        west.iter().rev().all(&mut consider);
        east.iter().all(&mut consider);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (d, _, height) in near {
            let w = 1.0 / d.max(1e-6);
            sum += w * height;
            weights += w;
        }
        sum / weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Philox;

    fn naive(points: &[[f64; 3]], x: f64, y: f64) -> f64 {
        let distance = |p: &[f64; 3]| (p[0] - x).powi(2) + (p[1] - y).powi(2);
        let mut near = points.to_vec();
        near.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        near.truncate(NEIGHBOURS);
        let w = |p: &[f64; 3]| 1.0 / distance(p).max(1e-6);
        near.iter().map(|p| w(p) * p[2]).sum::<f64>() / near.iter().map(w).sum::<f64>()
    }

    #[test]
    fn the_ground_is_that_of_a_full_search() {
        let mut rng = Philox::new(4, 4);
        for n in [1, 5, 300] {
            let mut point = |_| {
                let (east, north) = (rng.range(5e5, 5e5 + 20.0), rng.range(4e6, 4e6 + 9.0));
                [east, north, rng.range(0.0, 3.0)]
            };
            let points: Vec<[f64; 3]> = (0..n).map(&mut point).collect();
            let ground = Ground::new(points.iter().copied()).unwrap();
            for _ in 0..200 {
                let (x, y) = (rng.range(5e5 - 4.0, 5e5 + 24.0), rng.range(4e6 - 4.0, 4e6 + 14.0));
                approx::assert_abs_diff_eq!(ground.height(x, y), naive(&points, x, y), epsilon = 1e-9);
            }
        }
    }
}
