//! The two plots.

use canopy::report::svg::{LinePlot, Series, tick_label};

use super::clouds::Cloud;

/// Degrees and accuracy.
pub type Curve = Vec<(f64, f64)>;

/// Turned about the trunk and tilted, by angle.
pub fn turning(turned: Curve, tilted: Curve) -> LinePlot {
    let mut plot = LinePlot::new("Trees turned or tilted", "degrees", "accuracy")
        .with(Series::new("turned about the trunk", turned))
        .with(Series::new("tilted", tilted));
    (plot.percent, plot.y_range) = (true, Some((0.0, 1.0)));
    plot.for_the_book().ticks_at([0.0, 60.0, 120.0, 180.0])
}

/// A tree from the side, with its critical points beside it.
pub fn critical(cloud: &Cloud, critical: &[usize], species: &str) -> LinePlot {
    let side = |p: &[f32; 3]| (f64::from(p[0]), f64::from(p[2]));
    let all: Vec<(f64, f64)> = cloud.iter().map(side).collect();
    // Each copy has an x axis of its own, from −edge to edge, and the second one is shifted.
    let wide = all.iter().map(|p| p.0.abs()).fold(0.0, f64::max);
    let edge = (10.0 * wide).ceil() / 10.0;
    let aside = 2.5 * edge;
    let shift = |&i: &usize| (all[i].0 + aside, all[i].1);
    let survive = critical.iter().map(shift).collect();
    let title = format!("Critical points of a {species}");
    let names = [
        format!("all {} points", all.len()),
        format!("{} critical", critical.len()),
    ];
    let [first, second] = names;
    let mut plot = LinePlot::new(title, "x", "z")
        .with(Series::new(first, all).dots())
        .with(Series::new(second, survive).dots());
    let ticks = [-edge, 0.0, edge].map(|x| (x, tick_label(x)));
    let second = ticks.clone().map(|(x, label)| (x + aside, label));
    plot.x_ticks = [ticks, second].concat();
    // A tree as high as 2.5 times its axis is wide has the same scale in both directions.
    plot.size = (370.0, 470.0);
    plot
}
