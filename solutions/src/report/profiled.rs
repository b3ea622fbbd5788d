//! Plots and files of a profile.

use std::{fs, path::Path};

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

/// The timeline: one row per lane, milliseconds on the x axis. Of nested spans, the innermost is visible.
pub fn timeline_plot(timeline: &Timeline, title: &str) -> RectPlot {
    let mut rects = Vec::new();
    for row in 0..timeline.lanes.len() {
        for s in crate::profile::pieces(&timeline.of(row)) {
            let (kind, duration) = (s.kind.name(), s.duration() as f64 / 1e6);
            rects.push(Rect {
                row,
                from: s.start as f64 / 1e6,
                to: s.end as f64 / 1e6,
                colour: colour(s.kind),
                hover: format!("{} ({kind}), {duration:.3} ms", s.name),
                label: s.name.into_owned(),
            });
        }
    }
    let (wall, lanes, spans) = (timeline.wall as f64 / 1e6, &timeline.lanes, timeline.spans.len());
    RectPlot {
        x_label: "ms".into(),
        rows: lanes.iter().map(|l| l.name.clone()).collect(),
        x_range: (0.0, wall),
        describe: format!("{spans} spans in {} lanes over {wall:.1} ms", lanes.len()),
        ..plot(title, rects, timeline)
    }
}

/// The first lane's time as a flame graph: width is the share of the time, callers are below their callees.
pub fn flame_plot(timeline: &Timeline, title: &str) -> RectPlot {
    let frames = flame(&timeline.of(0));
    let all: u64 = frames.iter().map(|f| f.total).sum();
    let mut rects = Vec::new();
    lay(&frames, 0, 0, all, &mut rects);
    // Row 0 is at the top, and the outermost frame belongs at the bottom.
    let highest = rects.iter().map(|r| r.row).max().unwrap_or(0);
    rects.iter_mut().for_each(|r| r.row = highest - r.row);
    let share = |f: &Frame| format!("{} {:.1} %. ", f.name, percent(f.total, all));
    RectPlot {
        x_label: "% of the time".into(),
        x_range: (0.0, 100.0),
        describe: frames.iter().map(share).collect(),
        ..plot(title, rects, timeline)
    }
}

fn plot(title: &str, rects: Vec<Rect>, timeline: &Timeline) -> RectPlot {
    let there = |k: &Kind| timeline.spans.iter().any(|s| s.kind == *k);
    let kinds = Kind::ALL.into_iter().filter(there);
    RectPlot {
        title: title.to_owned(),
        rects,
        legend: kinds.map(|k| (colour(k), k.name().to_owned())).collect(),
        width: 720.0,
        ..RectPlot::default()
    }
}

fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// Adds the rectangles of frames that begin at the time `at`, and of those within them.
fn lay(frames: &[Frame], row: usize, mut at: u64, all: u64, rects: &mut Vec<Rect>) {
    for frame in frames {
        let share = percent(frame.total, all);
        // Less than 0.05 % is less than a pixel.
        if share >= 0.05 {
            let (calls, total) = (frame.calls, frame.total as f64 / 1e6);
            rects.push(Rect {
                row,
                from: percent(at, all),
                to: percent(at + frame.total, all),
                colour: colour(frame.kind),
                label: frame.name.clone(),
                hover: format!("{}: {share:.2} %, {calls} calls, {total:.3} ms", frame.name),
            });
            lay(&frame.children, row + 1, at, all, rects);
        }
        at += frame.total;
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
pub fn write(folder: &Path, timeline: &Timeline, name: &str) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be created", folder.display()))?;
    let summary = Summary::of(timeline);
    let flame = flame_plot(timeline, &format!("Where {name} spends its time"));
    let files = [
        ("trace.json", chrome(timeline).to_string()),
        ("flame.svg", flame.svg()),
        ("timeline.svg", timeline_plot(timeline, name).svg()),
        ("summary.json", format!("{:#}\n", summary.json())),
        ("summary.txt", summary.text(40)),
    ];
    for (file, text) in files {
        atomic::write(&folder.join(file), text.as_bytes())?;
    }
    Ok(())
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
        let folder = dir.path().join("profile");
        write(&folder, &made(), "a run").unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 5);
        let read = |file| fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(read("trace.json"), chrome(&made()).to_string());
        assert!(read("flame.svg").contains("forward: 66.67 %"));
    }

    #[test]
    fn frames_are_above_their_callers_and_a_timeline_shows_the_innermost_span() {
        let flame = flame_plot(&made(), "t").rects;
        let rows = flame.iter().map(|r| (&*r.label, r.row));
        assert!(rows.eq([("step", 1), ("forward", 0)]));
        let timeline = timeline_plot(&made(), "t").rects;
        let shown = timeline.iter().map(|r| (&*r.label, r.from, r.to));
        assert!(shown.eq([("step", 0.0, 0.1), ("forward", 0.1, 0.7), ("step", 0.7, 0.9)]));
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
        let first = ("first".into(), matmul_roof(&product, &machine), 1e9);
        let plot = roofline_plot(&machine, &[first]);
        assert_eq!(plot.series[0].points[1], (10.0, 100.0));
        assert!(plot.svg().contains("first"));
    }
}
