//! Trees that were classified wrongly, and the critical points of one tree.

use minijinja::{Value, context};

use crate::report::points::Grid;
use crate::train::{CriticalPoints, WrongTree};

/// Wrongly classified trees on the page, at most.
pub(super) const MOST: usize = 24;
/// Points of each, at most.
const MOST_POINTS: usize = 1024;
/// Points of the tree with critical points, at most.
const MOST_CRITICAL: usize = 4096;

pub(super) fn card(tree: &WrongTree) -> Value {
    let grid = Grid::new(&tree.points, MOST_POINTS);
    let label = format!(
        "Points of {}, a {} classified as {}",
        tree.tree, tree.truth, tree.predicted
    );
    context! {
        tree => tree.tree.as_str(),
        truth => tree.truth.as_str(),
        predicted => tree.predicted.as_str(),
        probability => f64::from(tree.probability),
        xyz => grid.base64(),
        still => grid.by_height((180.0, 200.0), &label),
        height => grid.size()[2],
    }
}

/// The points of one tree, with those marked that are the maximum of at least one channel.
pub(super) fn critical(c: &CriticalPoints) -> Value {
    let mut is_critical = vec![false; c.points.len()];
    for &i in c.critical.iter().filter(|&&i| i < c.points.len()) {
        is_critical[i] = true;
    }
    // In a large cloud only the other points are thinned, so that no critical one is lost. These come last, on top.
    let (last, mut kept): (Vec<usize>, Vec<usize>) = (0..c.points.len()).partition(|&i| is_critical[i]);
    let room = MOST_CRITICAL.saturating_sub(last.len());
    if kept.len() > room {
        kept = (0..room).map(|k| kept[k * kept.len() / room]).collect();
    }
    let others = kept.len();
    let points: Vec<[f32; 3]> = kept.iter().chain(&last).map(|&i| c.points[i]).collect();
    let grid = Grid::new(&points, MOST_CRITICAL);
    let layer = |k: usize| usize::from(grid.index[k] >= others);
    let label = format!(
        "Points of {}, a {}: {} of {} are critical",
        c.tree,
        c.species,
        last.len(),
        c.points.len()
    );
    context! {
        tree => c.tree.as_str(),
        species => c.species.as_str(),
        count => last.len(),
        points => c.points.len(),
        height => grid.size()[2],
        xyz => grid.base64(),
        flags => (0..grid.index.len()).map(|k| ['0', '1'][layer(k)]).collect::<String>(),
        still => grid.still((420.0, 480.0), &label, 2, layer),
    }
}
