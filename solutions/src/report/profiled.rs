//! Plots and files of a profile.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use canopy_data::atomic;

use super::svg::{LinePlot, Rect, RectPlot, Series};
use crate::profile::{Frame, Kind, Machine, Roof, Summary, Timeline, chrome, flame};

/// The colour of each kind, the same in all plots.
fn colour(kind: Kind) -> usize {
    match kind {
        Kind::Kernel => 0,
        Kind::Launch => 1,
        Kind::Load => 2,
        Kind::Wait => 3,
        Kind::Copy => 4,
        Kind::Other => 6,
    }
}

fn legend(timeline: &Timeline) -> Vec<(usize, String)> {
    let there = |k: &Kind| timeline.spans.iter().any(|s| s.kind == *k);
    let kinds = Kind::ALL.into_iter().filter(there);
    kinds.map(|k| (colour(k), k.name().to_owned())).collect()
}

/// The timeline: one row per lane, milliseconds on the x axis. Of nested spans, the innermost is visible.
pub fn timeline_plot(timeline: &Timeline, title: &str) -> RectPlot {
    let mut rects = Vec::new();
    for row in 0..timeline.lanes.len() {
        for s in crate::profile::pieces(&timeline.of(row)) {
            rects.push(Rect {
                row,
                from: s.start as f64 / 1e6,
                to: s.end as f64 / 1e6,
                colour: colour(s.kind),
                hover: format!(
                    "{} ({}), {:.3} ms",
                    s.name,
                    s.kind.name(),
                    s.duration() as f64 / 1e6
                ),
                label: s.name.into_owned(),
            });
        }
    }
    let wall = timeline.wall as f64 / 1e6;
    RectPlot {
        title: title.to_owned(),
        x_label: "ms".into(),
        rows: timeline.lanes.iter().map(|l| l.name.clone()).collect(),
        rects,
        legend: legend(timeline),
        x_range: (0.0, wall),
        width: 720.0,
        describe: format!(
            "{} spans in {} lanes over {wall:.1} ms",
            timeline.spans.len(),
            timeline.lanes.len()
        ),
    }
}

/// The first lane's time as a flame graph: width is the share of the time, callers are below their callees.
pub fn flame_plot(timeline: &Timeline, title: &str) -> RectPlot {
    let frames = flame(&timeline.of(0));
    let all: u64 = frames.iter().map(|f| f.total).sum();
    let mut rects = Vec::new();
    let mut at = 0;
    for frame in &frames {
        lay(frame, 0, at, all, &mut rects);
        at += frame.total;
    }
    // Row 0 is at the top, and the outermost frame belongs at the bottom.
    let highest = rects.iter().map(|r| r.row).max().unwrap_or(0);
    rects.iter_mut().for_each(|r| r.row = highest - r.row);
    RectPlot {
        title: title.to_owned(),
        x_label: "% of the time".into(),
        rows: Vec::new(),
        rects,
        legend: legend(timeline),
        x_range: (0.0, 100.0),
        width: 720.0,
        describe: frames
            .iter()
            .map(|f| format!("{} {:.1} %. ", f.name, percent(f.total, all)))
            .collect(),
    }
}

fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

fn lay(frame: &Frame, row: usize, at: u64, all: u64, rects: &mut Vec<Rect>) {
    let share = percent(frame.total, all);
    // Less than 0.05 % is less than a pixel.
    if share < 0.05 {
        return;
    }
    rects.push(Rect {
        row,
        from: percent(at, all),
        to: percent(at + frame.total, all),
        colour: colour(frame.kind),
        label: frame.name.clone(),
        hover: format!(
            "{}: {share:.2} %, {} calls, {:.3} ms",
            frame.name,
            frame.calls,
            frame.total as f64 / 1e6
        ),
    });
    let mut at = at;
    for child in &frame.children {
        lay(child, row + 1, at, all, rects);
        at += child.total;
    }
}

/// The roofline with `kernels` under it: name, roof, and achieved operations per second.
pub fn roofline_plot(machine: &Machine, kernels: &[(String, Roof, f64)]) -> LinePlot {
    let ridge = machine.flops / machine.bytes;
    let reach =
        |pick: fn(f64, f64) -> f64, start: f64| kernels.iter().map(|k| k.1.intensity).fold(start, pick);
    let (low, high) = (reach(f64::min, ridge) / 2.0, reach(f64::max, ridge) * 2.0);
    let roof = [low, ridge, high].map(|i| (i, machine.flops.min(i * machine.bytes) / 1e9));
    let mut plot = LinePlot::new("Roofline", "FLOP per byte", "GFLOP/s");
    plot = plot.with(Series::new("limit of the machine", roof.to_vec()));
    for (name, roof, reached) in kernels {
        plot = plot.with(Series::new(name, vec![(roof.intensity, reached / 1e9)]).labelled());
    }
    (plot.log_x, plot.log_y) = (true, true);
    plot.for_the_book()
}

/// Writes `trace.json`, `flame.svg`, `timeline.svg`, `summary.json` and `summary.txt` into `folder`, each
/// atomically.
///
/// # Errors
/// Names the file.
pub fn write(folder: &Path, timeline: &Timeline, name: &str) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be created", folder.display()))?;
    let summary = Summary::of(timeline);
    let files = [
        ("trace.json", chrome(timeline).to_string()),
        (
            "flame.svg",
            flame_plot(timeline, &format!("Where {name} spends its time")).svg(),
        ),
        ("timeline.svg", timeline_plot(timeline, name).svg()),
        ("summary.json", format!("{:#}\n", summary.json())),
        ("summary.txt", summary.text(40)),
    ];
    let mut written = Vec::new();
    for (file, text) in files {
        let path = folder.join(file);
        atomic::write(&path, text.as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Lane, MatMul, Span, matmul_roof};

    fn made() -> Timeline {
        Timeline {
            lanes: vec![Lane {
                name: "main".into(),
                device: false,
            }],
            spans: vec![
                Span::new("step", Kind::Other, 0, 0, 900_000),
                Span::new("forward", Kind::Kernel, 0, 100_000, 700_000),
            ],
            wall: 1_000_000,
            dropped: 0,
        }
    }

    #[test]
    fn the_files_of_a_profile_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let written = write(&dir.path().join("profile"), &made(), "a run").unwrap();
        assert_eq!(written.len(), 5);
        let trace = fs::read_to_string(dir.path().join("profile/trace.json")).unwrap();
        assert_eq!(trace, chrome(&made()).to_string());
        let flame = fs::read_to_string(dir.path().join("profile/flame.svg")).unwrap();
        assert!(flame.contains("forward: 66.67 %"), "{flame}");
    }

    #[test]
    fn a_frame_is_drawn_above_its_caller() {
        let plot = flame_plot(&made(), "t");
        let row = |name: &str| plot.rects.iter().find(|r| r.label == name).unwrap().row;
        assert!(row("forward") < row("step"));
    }

    #[test]
    fn a_timeline_shows_the_innermost_span() {
        let plot = timeline_plot(&made(), "t");
        let shown: Vec<(&str, f64, f64)> = plot.rects.iter().map(|r| (&*r.label, r.from, r.to)).collect();
        assert_eq!(
            shown,
            [("step", 0.0, 0.1), ("forward", 0.1, 0.7), ("step", 0.7, 0.9)]
        );
    }

    #[test]
    fn the_roofline_has_its_corner_at_the_ridge() {
        let machine = Machine {
            flops: 1e11,
            bytes: 1e10,
        };
        let product = MatMul {
            rows: 100,
            inner: 3,
            columns: 64,
            width: 4,
        };
        let plot = roofline_plot(
            &machine,
            &[("first".into(), matmul_roof(&product, &machine), 1e9)],
        );
        assert_eq!(plot.series[0].points[1], (10.0, 100.0));
        assert!(plot.svg().contains("first"));
    }
}
