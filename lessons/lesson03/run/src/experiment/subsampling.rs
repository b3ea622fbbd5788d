//! How long each method of sub-sampling takes, and how large the holes are that it leaves.

use std::time::Instant;

use anyhow::Result;
use canopy_data::sample::{Subsample, voxel_to};
use grader::{
    cells,
    table::{Table, count, fixed, left},
};
use lesson03::{Lesson03, REFERENCE};

use super::files::{Files, WANTED};

/// A hole is the distance of a point that was left out to the nearest point that was kept.
pub fn table(files: &Files, answer: &Lesson03, seed: u64) -> Result<Table> {
    let points = files.cloud()?.xyz;
    let edge = edge(&points, seed)?;
    let random = Subsample::Random(WANTED);
    let farthest = Subsample::Farthest(WANTED);
    let methods = [
        ("random", answer, random),
        ("voxel", answer, Subsample::Voxel(edge)),
        ("farthest", answer, farthest),
        ("farthest, canopy's k-d tree", &REFERENCE, farthest),
    ];
    let mut table = Table::new([
        left("to 1,024 points"),
        count("kept"),
        fixed("seconds", 4),
        fixed("mean hole", 2).unit("m"),
        fixed("worst hole", 2).unit("m"),
    ]);
    for (name, answer, what) in methods {
        let start = Instant::now();
        let kept = (answer.subsample)(&points, what, seed);
        let seconds = start.elapsed().as_secs_f64();
        let (mean, worst) = holes(&points, &kept);
        table.row(cells![name, kept.len(), seconds, mean, worst]);
    }
    Ok(table)
}

/// The voxel edge at which about [`WANTED`] voxels contain points.
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

/// The mean and the worst hole, measured at every tenth point of the cloud.
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
