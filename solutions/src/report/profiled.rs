//! Plots and files of a profile.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use canopy_data::atomic;

use super::svg::{Rect, RectPlot};
use crate::profile::{Kind, Summary, Timeline, chrome, parents, pieces};

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
        for s in pieces(&timeline.of(row)) {
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

/// Deeper frames are left out: no picture shows them.
const DEEPEST: usize = 200;

/// The first lane's time as a flame graph: all spans of one name with the same call stack are one frame. The width is the share
/// of the time, callers are below their callees. The order of frames says nothing about time (Gregg 2016).
pub fn flame_plot(timeline: &Timeline, title: &str) -> RectPlot {
    let spans = timeline.of(0);
    let parents = parents(&spans);
    // By call stack, so that the frames within a frame follow it: the kind of its first span, calls and total time.
    let mut frames: BTreeMap<Vec<&str>, (Kind, usize, u64)> = BTreeMap::new();
    for (i, span) in spans.iter().enumerate() {
        let outwards = std::iter::successors(Some(i), |&i| parents[i]).take(DEEPEST + 1);
        let mut stack: Vec<&str> = outwards.map(|i| &*spans[i].name).collect();
        if stack.len() <= DEEPEST {
            stack.reverse();
            let (_, calls, total) = frames.entry(stack).or_insert((span.kind, 0, 0));
            *calls += 1;
            *total += span.duration();
        }
    }
    let outermost = frames.iter().filter(|frame| frame.0.len() == 1);
    let outermost: Vec<(&str, u64)> = outermost.map(|(stack, frame)| (stack[0], frame.2)).collect();
    let all: u64 = outermost.iter().map(|frame| frame.1).sum();
    let percent = |time: u64| 100.0 * time as f64 / all.max(1) as f64;
    // Row 0 is at the top, and the outermost frame belongs at the bottom.
    let shown = frames.iter().filter(|(_, frame)| percent(frame.2) >= LEAST);
    let highest = shown.map(|(stack, _)| stack.len()).max().unwrap_or(0);
    let mut rects = Vec::new();
    // Where the next frame of each depth begins.
    let mut next = vec![0];
    for (stack, (kind, calls, total)) in &frames {
        let depth = stack.len() - 1;
        let start = next[depth];
        next.truncate(depth);
        next.extend([start + total, start]);
        let (name, share) = (stack[depth], percent(*total));
        if share >= LEAST {
            rects.push(Rect {
                row: highest - stack.len(),
                from: percent(start),
                to: percent(start + total),
                colour: colour(*kind),
                label: name.to_owned(),
                hover: format!(
                    "{name}: {share:.2} %, {calls} calls, {:.3} ms",
                    *total as f64 / 1e6
                ),
            });
        }
    }
    let share = |(name, total): &(&str, u64)| format!("{name} {:.1} %. ", percent(*total));
    RectPlot {
        x_label: "% of the time".into(),
        x_range: (0.0, 100.0),
        describe: outermost.iter().map(share).collect(),
        ..plot(title, rects, timeline)
    }
}

/// Frames of a smaller percentage are less than a pixel wide.
const LEAST: f64 = 0.05;

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
    use crate::profile::{Lane, Span};

    fn span(name: &'static str, start: u64, end: u64) -> Span {
        Span::new(name, Kind::Other, 0, start, end)
    }

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
    fn a_timeline_shows_the_innermost_span() {
        let timeline = timeline_plot(&made(), "t").rects;
        let shown = timeline.iter().map(|r| (&*r.label, r.from, r.to));
        assert!(shown.eq([("step", 0.0, 0.1), ("forward", 0.1, 0.7), ("step", 0.7, 0.9)]));
    }

    #[test]
    fn spans_of_one_name_and_stack_are_one_frame_above_their_callers() {
        let flame = |spans: Vec<Span>| flame_plot(&Timeline { spans, ..made() }, "t").rects;
        let spans = [
            ("step", 0, 50),
            ("read", 0, 10),
            ("forward", 10, 50),
            ("step", 50, 90),
            ("forward", 55, 60),
            ("read", 90, 100),
        ];
        let rects = flame(spans.map(|(name, start, end)| span(name, start, end)).into());
        let frames = rects.iter().map(|r| (&*r.hover, r.row, r.from, r.to));
        assert!(frames.eq([
            ("read: 10.00 %, 1 calls, 0.000 ms", 1, 0.0, 10.0),
            ("step: 90.00 %, 2 calls, 0.000 ms", 1, 10.0, 100.0),
            ("forward: 45.00 %, 2 calls, 0.000 ms", 0, 10.0, 55.0),
            ("read: 10.00 %, 1 calls, 0.000 ms", 0, 55.0, 65.0),
        ]));
        // A very deep stack is cut off.
        let deep = flame((0..5000).map(|i| span("f", i, 20_000 - i)).collect());
        assert!(deep.len() == DEEPEST && deep[0].to == 100.0, "{}", deep.len());
    }
}
