//! Timelines of a pipeline, and its bubble.

use canopy::{
    report::svg::{Rect, RectPlot},
    split::Action,
};
use lesson10::simulate::{Pass, finish, name};

/// Idle time over computing time: the mean over the stages.
pub fn bubble(passes: &[Pass], stages: usize) -> f64 {
    let computes: f64 = passes.iter().map(|pass| pass.end - pass.start).sum();
    let all = finish(passes) * stages as f64;
    (all - computes) / computes
}

/// Timelines one below the other, each with its name before its first row.
pub fn plot(title: &str, runs: &[(&str, Vec<Pass>)], stages: usize) -> RectPlot {
    let (mut rows, mut rects) = (Vec::new(), Vec::new());
    for (what, passes) in runs {
        let base = rows.len();
        for stage in 0..stages {
            rows.push(match stage {
                0 => format!("{what}: stage 0"),
                _ => format!("stage {stage}"),
            });
        }
        rects.extend(passes.iter().map(|pass| {
            let (colour, kind) = match pass.action {
                Action::Forward(_) => (0, "forward"),
                Action::Backward(_) => (1, "backward"),
            };
            let label = name(pass.action)[1..].to_owned();
            Rect {
                row: base + pass.stage,
                from: pass.start,
                to: pass.end,
                colour,
                hover: format!(
                    "{kind} pass of micro-batch {label}, {:.1} to {:.1} ms",
                    pass.start, pass.end
                ),
                label,
            }
        }));
    }
    let end = rects.iter().map(|rect| rect.to).fold(0.0, f64::max);
    RectPlot {
        title: title.to_owned(),
        x_label: "time, ms".into(),
        rows,
        rects,
        legend: vec![(0, "forward pass".into()), (1, "backward pass".into())],
        x_range: (0.0, end),
        width: 720.0,
        describe: "A row for each stage; the number in a pass is its micro-batch.".into(),
    }
}
