//! Plots of the runs.

use canopy::{
    profile::Machine,
    report::profiled::timeline_plot,
    report::svg::{LinePlot, Rect, RectPlot, Series},
};
use lesson05::Lesson05;

use super::{
    bottlenecks::{Run, Trainer},
    roofline::Layer,
};

/// Two steps of each trainer, scaled to the same width: the host above the device. Without `names`, the host's spans all
/// look alike, so that a reader can guess what they are.
pub fn side_by_side(title: &str, runs: &[(Trainer, &Run)], names: bool) -> RectPlot {
    let (mut rows, mut rects, mut legend) = (Vec::new(), Vec::new(), Vec::new());
    for (trainer, run) in runs {
        let (from, to) = part(run, 2);
        let part = run.timeline.window(from, to);
        let mut plot = timeline_plot(&part, "");
        if !names {
            anonymous(&mut plot);
        }
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
            let time = format!("{:.1} ms", (to - from) as f64 / 1e6);
            rows.push(match place {
                0 => format!("{}, {time}: host", trainer.letter()),
                _ => "device".into(),
            });
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
        describe: "The host above the device, two steps from the middle of each run.".into(),
    }
}

/// The speed-up of a whole run against that of a part of it, by exercise 5.4.
pub fn amdahl_plot(answer: &Lesson05) -> LinePlot {
    let mut plot = LinePlot::new("Amdahl's law", "speed-up of the part", "speed-up of the run");
    for share in [0.5, 0.8, 0.95] {
        let limit = (answer.amdahl)(share, 1.0).limit;
        // Dense near the limit, where a little more needs much.
        let at = |i: u32| {
            let wanted = 1.0 + (limit - 1.0) * (1.0 - (1.0 - f64::from(i) / 200.0).powi(3));
            Some(((answer.amdahl)(share, wanted).needed?, wanted))
        };
        let points = (0..200).filter_map(at).filter(|(needed, _)| *needed <= 100.0);
        let name = format!("{:.0} % of the run", 100.0 * share);
        plot = plot.with(Series::new(name, points.collect()));
    }
    plot.log_x = true;
    plot.for_the_book().ticks_at([1.0, 2.0, 5.0, 10.0, 100.0])
}

/// Takes away what gives the guess away: the names, and the colours of the host's spans.
fn anonymous(plot: &mut RectPlot) {
    let [kernel, host] = [0, 6];
    for rect in &mut plot.rects {
        (rect.label, rect.hover) = (String::new(), String::new());
        rect.colour = if rect.colour == kernel { kernel } else { host };
    }
    plot.legend = vec![(kernel, "kernels".into()), (host, "the host is in a call".into())];
}

/// Start and end of `steps` steps in the middle of the run, in nanoseconds.
pub fn part(run: &Run, steps: u64) -> (u64, u64) {
    let step = run.step as u64;
    let from = step * (run.steps as u64 / 2);
    (from, (from + steps * step).min(run.timeline.wall))
}

/// The roofline with the layers under it.
pub fn roofline_plot(machine: &Machine, layers: &[Layer]) -> LinePlot {
    let ridge = machine.flops / machine.bytes;
    let reach =
        |pick: fn(f64, f64) -> f64, start: f64| layers.iter().map(|l| l.1.intensity).fold(start, pick);
    let (low, high) = (reach(f64::min, ridge) / 2.0, reach(f64::max, ridge) * 2.0);
    let roof = [low, ridge, high].map(|i| (i, machine.flops.min(i * machine.bytes) / 1e9));
    let mut plot = LinePlot::new("Roofline", "FLOP per byte", "GFLOP/s");
    plot = plot.with(Series::new("limit of the machine", roof.to_vec()));
    for (name, roof, reached) in layers {
        plot = plot.with(Series::new(name, vec![(roof.intensity, reached / 1e9)]).labelled());
    }
    (plot.log_x, plot.log_y) = (true, true);
    plot.for_the_book()
}
