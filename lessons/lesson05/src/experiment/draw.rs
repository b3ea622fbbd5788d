//! Pictures of the runs.

use canopy::{
    report::profiled::timeline_plot,
    report::svg::{Rect, RectPlot},
};

use super::sick::{Run, Trainer};

/// Two steps of each trainer, stretched to one width: host over device.
pub fn side_by_side(title: &str, runs: &[(Trainer, &Run)]) -> RectPlot {
    let (mut rows, mut rects, mut legend) = (Vec::new(), Vec::new(), Vec::new());
    for (trainer, run) in runs {
        let (from, to) = middle(run);
        let part = run.timeline.window(from, to);
        let plot = timeline_plot(&part, "");
        for entry in plot.legend {
            if !legend.contains(&entry) {
                legend.push(entry);
            }
        }
        let base = rows.len();
        let scale = 100.0 / ((to - from).max(1) as f64 / 1e6);
        let shown: Vec<usize> = [false, true]
            .iter()
            .filter_map(|&device| part.lanes.iter().position(|l| l.device == device))
            .collect();
        for (place, &lane) in shown.iter().enumerate() {
            let who = if place == 0 { "host" } else { "device" };
            rows.push(format!("{} {who}", trainer.letter()));
            rects.extend(plot.rects.iter().filter(|r| r.row == lane).map(|r| Rect {
                row: base + place,
                from: r.from * scale,
                to: r.to * scale,
                ..r.clone()
            }));
        }
    }
    legend.sort();
    RectPlot {
        title: title.to_owned(),
        x_label: "% of two steps".into(),
        rows,
        rects,
        legend,
        x_range: (0.0, 100.0),
        width: 720.0,
        describe: "Host over device, for each trainer two steps from the middle of its run.".into(),
    }
}

/// The time of so many steps, from the middle of the run.
pub fn part(run: &Run, steps: u64) -> (u64, u64) {
    let step = run.step as u64;
    let from = step * (run.steps as u64 / 2);
    (from, (from + steps * step).min(run.timeline.wall))
}

/// Two steps' time from the middle of the run.
fn middle(run: &Run) -> (u64, u64) {
    part(run, 2)
}
