//! Trees that were classified wrongly, and the critical points of one tree.

use std::fmt::Write;

use indicatif::HumanCount;

use crate::report::html::{escape, percent};
use crate::report::points::Grid;
use crate::train::{RunReport, WrongTree};

/// Wrongly classified trees on the page, at most.
const MOST_TREES: usize = 24;
/// Points of each, at most.
const MOST_POINTS: usize = 1024;
/// Points of the tree with critical points, at most.
const MOST_CRITICAL: usize = 4096;
/// Colours, by height.
const LAYERS: usize = 6;

pub(super) fn wrong(out: &mut String, run: &RunReport) {
    let evaluated = run.evaluation.as_ref().is_some_and(|e| e.clouds() > 0);
    if !evaluated && run.wrong.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"wrong\">\n<h2 id=\"wrong\">Wrongly classified trees</h2>\n");
    let n = run.wrong.len();
    if n == 0 {
        out.push_str("<p>None.</p>\n</section>\n");
        return;
    }
    let shown = n.min(MOST_TREES);
    let more = match n - shown {
        0 => String::new(),
        more => format!(" {} more are not shown.", HumanCount(more as u64)),
    };
    let _ = write!(
        out,
        "<div class=\"head\"><p>The points that the model saw, coloured by height; the most confident mistake first.{more}</p>\
         <button type=\"button\" class=\"turn\" hidden></button></div>\n<div class=\"trees\">\n"
    );
    for tree in &run.wrong[..shown] {
        card(out, tree);
    }
    out.push_str("</div>\n</section>\n");
}

fn card(out: &mut String, tree: &WrongTree) {
    let grid = Grid::new(&tree.points, MOST_POINTS);
    let top = f64::from(grid.top[2].max(1));
    let by_height = |k: usize| (f64::from(grid.steps[k][2]) / top * LAYERS as f64) as usize;
    let label = format!(
        "Points of {}, a {} classified as {}",
        tree.tree, tree.truth, tree.predicted
    );
    let _ = write!(
        out,
        "<figure class=\"tree\"><div class=\"cloud\" data-xyz=\"{}\">{}</div>\n<figcaption><span class=\"is\">{}</span> \
         <span class=\"named\">classified as <b>{}</b>, {}</span><span class=\"name\">{} · {:.1}\u{a0}m</span></figcaption></figure>\n",
        grid.base64(),
        grid.still(180.0, 200.0, &label, LAYERS, by_height),
        escape(&tree.truth),
        escape(&tree.predicted),
        percent(f64::from(tree.probability)),
        escape(&tree.tree),
        grid.size()[2]
    );
}

/// The points of one tree, with those marked that are the maximum of at least one channel.
pub(super) fn critical(out: &mut String, run: &RunReport) {
    let Some(c) = &run.critical else { return };
    let mut is_critical = vec![false; c.points.len()];
    for &i in c.critical.iter().filter(|&&i| i < c.points.len()) {
        is_critical[i] = true;
    }
    let count = is_critical.iter().filter(|&&b| b).count();
    // In a large cloud only the other points are thinned, so that no critical one is lost. These come last, on top.
    let mut kept: Vec<usize> = (0..c.points.len()).filter(|&i| !is_critical[i]).collect();
    let room = MOST_CRITICAL.saturating_sub(count);
    if kept.len() > room {
        kept = (0..room).map(|k| kept[k * kept.len() / room]).collect();
    }
    let others = kept.len();
    kept.extend((0..c.points.len()).filter(|&i| is_critical[i]));
    let points: Vec<[f32; 3]> = kept.iter().map(|&i| c.points[i]).collect();
    let grid = Grid::new(&points, MOST_CRITICAL);
    let layer = |k: usize| usize::from(grid.index[k] >= others);
    let flags: String = (0..grid.index.len())
        .map(|k| if layer(k) == 1 { '1' } else { '0' })
        .collect();
    let label = format!(
        "Points of {}, a {}: {count} of {} are critical",
        c.tree,
        c.species,
        c.points.len()
    );
    let _ = write!(
        out,
        "<section aria-labelledby=\"critical\">\n<h2 id=\"critical\">Critical points</h2>\n<div class=\"critical\">\n\
         <figure><div class=\"cloud\" data-xyz=\"{}\" data-flags=\"{flags}\">{}</div></figure>\n<div>\
         <p>{}, a <b>{}</b>, {:.1}\u{a0}m tall: the prediction depends on <b class=\"ink\">{} critical points</b> of {}.</p>\n\
         <p>PointNet takes the maximum of each feature over all points, so a point that is the maximum of no feature could be \
         left out without changing the prediction. The others, the critical points, are drawn large and in colour \
         (Qi et al. 2017, section 4.3).</p>\n\
         <p><button type=\"button\" class=\"turn\" hidden></button></p></div>\n</div>\n</section>\n",
        grid.base64(),
        grid.still(420.0, 480.0, &label, 2, layer),
        escape(&c.tree),
        escape(&c.species),
        grid.size()[2],
        HumanCount(count as u64),
        HumanCount(c.points.len() as u64)
    );
}
