//! Timelines of a pipeline.

use canopy::{
    report::svg::{Rect, RectPlot},
    split::Action,
};
use lesson10::simulate::Pass;

/// The step that is drawn: timelines one below the other, each with its name before its first row.
pub fn plot(runs: &[(&str, Vec<Pass>)], stages: usize) -> RectPlot {
    let (mut rows, mut rects) = (Vec::new(), Vec::new());
    for (what, passes) in runs {
        let base = rows.len();
        rows.push(format!("{what}: stage 0"));
        rows.extend((1..stages).map(|stage| format!("stage {stage}")));
        rects.extend(passes.iter().map(|pass| {
            let (colour, kind, i) = match pass.action {
                Action::Forward(i) => (0, "forward", i),
                Action::Backward(i) => (1, "backward", i),
            };
            let Pass { start, end, .. } = pass;
            Rect {
                row: base + pass.stage,
                from: pass.start,
                to: pass.end,
                colour,
                hover: format!("{kind} pass of micro-batch {i}, {start:.1} to {end:.1} ms"),
                label: i.to_string(),
            }
        }));
    }
    let end = rects.iter().map(|rect| rect.to).fold(0.0, f64::max);
    RectPlot {
        title: "Simulated: 8 micro-batches, 4 stages".into(),
        x_label: "time, ms".into(),
        rows,
        rects,
        legend: vec![(0, "forward pass".into()), (1, "backward pass".into())],
        x_range: (0.0, end),
        width: 720.0,
        describe: "A row for each stage; the number in a pass is its micro-batch.".into(),
    }
}
