//! The two plots.

use canopy::report::svg::{LinePlot, Series};

use super::clouds::Cloud;

/// Degrees and accuracy.
pub type Curve = Vec<(f64, f64)>;

/// Turned about the trunk and tilted, by angle.
pub fn turning(turned: Curve, tilted: Curve) -> LinePlot {
    let mut plot = LinePlot::new("Accuracy when trees are turned or tilted", "degrees", "accuracy")
        .with(Series::new("turned about the trunk", turned))
        .with(Series::new("tilted", tilted));
    (plot.percent, plot.y_range, plot.size) = (true, Some((0.0, 1.0)), (640.0, 340.0));
    plot
}

/// A tree from the side, with its critical points beside it.
pub fn critical(cloud: &Cloud, critical: &[usize], species: &str) -> LinePlot {
    let side = |p: &[f32; 3]| (f64::from(p[0]), f64::from(p[2]));
    let all: Vec<(f64, f64)> = cloud.iter().map(side).collect();
    // Shifted so far that both axes have the same scale in a picture of this size.
    let wide = all.iter().map(|p| p.0.abs()).fold(0.0, f64::max);
    let aside = (1.5 - 2.0 * wide).max(2.2 * wide);
    let shift = |&i: &usize| (all[i].0 + aside, all[i].1);
    let survive = critical.iter().map(shift).collect();
    let title = format!("Critical points of a {species}");
    let names = [
        format!("all {} points", all.len()),
        format!("the {} critical points", critical.len()),
    ];
    let [first, second] = names;
    let mut plot = LinePlot::new(title, "x; the second copy is shifted", "z, in the unit sphere")
        .with(Series::new(first, all).dots())
        .with(Series::new(second, survive).dots());
    plot.size = (440.0, 620.0);
    plot
}
