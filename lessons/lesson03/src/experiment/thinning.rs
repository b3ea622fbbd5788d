//! What each way of thinning costs, and what it leaves uncovered.

use std::time::Instant;

use anyhow::Result;
use canopy_data::sample::{Subsample, voxel_to};
use lesson03::{Lesson03, REFERENCE};

use super::files::{Files, WANTED};

/// One way.
pub struct Thinned {
    pub name: &'static str,
    pub kept: usize,
    pub seconds: f64,
    /// How far the points that were left out are from the nearest one that was kept, metres: the mean, and the farthest.
    pub mean: f64,
    pub worst: f64,
}

pub fn thinned(files: &Files, answer: &Lesson03, seed: u64) -> Result<Vec<Thinned>> {
    let points = files.cloud()?.xyz;
    let edge = edge(&points, seed)?;
    let random = Subsample::Random(WANTED);
    let farthest = Subsample::Farthest(WANTED);
    let ways = [
        ("random", answer, random),
        ("voxel", answer, Subsample::Voxel(edge)),
        ("farthest", answer, farthest),
        ("farthest, canopy's k-d tree", &REFERENCE, farthest),
    ];
    let mut rows = Vec::new();
    for (name, answer, what) in ways {
        let start = Instant::now();
        let kept = (answer.subsample)(&points, what, seed);
        let seconds = start.elapsed().as_secs_f64();
        let (mean, worst) = holes(&points, &kept);
        rows.push(Thinned {
            name,
            kept: kept.len(),
            seconds,
            mean,
            worst,
        });
    }
    Ok(rows)
}

/// An edge at which about as many voxels hold points as are wanted.
fn edge(points: &[[f32; 3]], seed: u64) -> Result<f32> {
    let few = voxel_to(points, WANTED, seed)?;
    let (mut small, mut large) = (0.01f32, 5.0);
    for _ in 0..12 {
        let middle = (small * large).sqrt();
        let count = (REFERENCE.subsample)(points, Subsample::Voxel(middle), seed).len();
        if count > few.len() {
            small = middle
        } else {
            large = middle
        }
    }
    Ok(large)
}

/// By every tenth point of the cloud.
fn holes(points: &[[f32; 3]], kept: &[usize]) -> (f64, f64) {
    let distance = |a: [f32; 3], b: [f32; 3]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>();
    let near = |p: &[f32; 3]| {
        kept.iter()
            .map(|&k| distance(*p, points[k]))
            .fold(f32::INFINITY, f32::min)
    };
    let holes: Vec<f64> = points
        .iter()
        .step_by(10)
        .map(|p| f64::from(near(p)).sqrt())
        .collect();
    let mean = holes.iter().sum::<f64>() / holes.len().max(1) as f64;
    (mean, holes.into_iter().fold(0.0, f64::max))
}
