//! One point per voxel, which evens out a density that falls with the distance from the scanner.

use std::collections::HashMap;

use anyhow::{Result, ensure};

use super::random;
use crate::{Philox, Purpose};

/// One point of each cube of `edge` metres, chosen at random, in order of the cloud.
///
/// # Errors
/// Returns an error if the edge is not positive, a coordinate is not finite, or there are more than 2⁶³ cubes along an
/// axis.
pub fn voxel(points: &[[f32; 3]], edge: f32, seed: u64) -> Result<Vec<usize>> {
    ensure!(
        edge.is_finite() && edge > 0.0,
        "a voxel's edge of {edge} m: it must be above 0"
    );
    // The point with the least draw of its voxel stays: no order of points is favoured.
    let key = Purpose::Thin.key(seed);
    let mut best: HashMap<[i64; 3], (u64, usize)> = HashMap::new();
    for (i, p) in points.iter().enumerate() {
        ensure!(p.iter().all(|c| c.is_finite()), "point {i} is {p:?}: not finite");
        let cell = p.map(|c| (f64::from(c) / f64::from(edge)).floor() as i64);
        let [a, b, ..] = Philox::at(key, super::VOXEL, i as u64);
        let draw = (u64::from(a) << 32 | u64::from(b), i);
        best.entry(cell)
            .and_modify(|kept| *kept = draw.min(*kept))
            .or_insert(draw);
    }
    let mut out: Vec<usize> = best.into_values().map(|kept| kept.1).collect();
    out.sort_unstable();
    Ok(out)
}

/// `n` points of different voxels, with the largest edge that leaves that many (within 1 %); all if there are at most
/// `n`.
///
/// # Errors
/// Returns an error if a coordinate is not finite.
pub fn voxel_to(points: &[[f32; 3]], n: usize, seed: u64) -> Result<Vec<usize>> {
    let mut kept: Vec<usize> = (0..points.len()).collect();
    if n < points.len() {
        let extent = |a: usize| {
            let of = points.iter().map(|p| p[a]);
            of.clone().fold(f32::NEG_INFINITY, f32::max) - of.fold(f32::INFINITY, f32::min)
        };
        let (mut small, mut large) = (0.0, (0..3).map(extent).fold(0.0, f32::max).max(1e-3) * 2.0);
        for _ in 0..40 {
            let edge = if small > 0.0 {
                (small * large).sqrt()
            } else {
                large / 4.0
            };
            if edge < 1e-6 || large / edge < 1.0005 {
                break;
            }
            let some = voxel(points, edge, seed)?;
            if some.len() < n {
                large = edge;
                continue;
            }
            small = edge;
            let close = some.len() <= n + n / 100;
            kept = some;
            if close {
                break;
            }
        }
    }
    let mut chosen: Vec<usize> = random(kept.len(), n, seed).into_iter().map(|i| kept[i]).collect();
    chosen.sort_unstable();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn voxel_to_gives_as_many_as_asked_and_bad_edges_and_points_are_refused() {
        let mut rng = Philox::new(9, 9);
        let points: Vec<[f32; 3]> = (0..5_000)
            .map(|_| [(); 3].map(|()| (rng.normal() * 3.0) as f32))
            .collect();
        for n in [1, 10, 1_024, 4_999, 5_000, 9_000] {
            let got = voxel_to(&points, n, 1).unwrap();
            assert_eq!(got.len(), n.min(5_000));
            assert_eq!(got.iter().collect::<HashSet<_>>().len(), got.len());
        }
        assert_eq!(voxel_to(&[[1.0; 3]; 50], 7, 1).unwrap().len(), 7);
        assert!(voxel_to(&[], 7, 1).unwrap().is_empty());
        let infinite = [[0.0, f32::INFINITY, 0.0]];
        for (points, edge) in [(&points[..3], 0.0), (&points[..3], f32::NAN), (&infinite, 1.0)] {
            assert!(voxel(points, edge, 1).is_err());
        }
    }
}
