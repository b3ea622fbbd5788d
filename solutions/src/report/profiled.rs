//! The plot and the files of a profile.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use canopy_data::atomic;

use super::svg::{Rect, RectPlot};
use crate::profile::{Kind, Summary, Timeline, chrome, pieces};

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
    let (wall, lanes, spans) = (timeline.wall as f64 / 1e6, &timeline.lanes, &timeline.spans);
    let there = |k: &Kind| spans.iter().any(|s| s.kind == *k);
    let kinds = Kind::ALL.into_iter().filter(there);
    RectPlot {
        title: title.to_owned(),
        x_label: "ms".into(),
        rows: lanes.iter().map(|l| l.name.clone()).collect(),
        rects,
        legend: kinds.map(|k| (colour(k), k.name())).collect(),
        x_range: (0.0, wall),
        width: 720.0,
        describe: format!("{} spans in {} lanes over {wall:.1} ms", spans.len(), lanes.len()),
    }
}

/// Writes `trace.json`, `timeline.svg`, `summary.json` and `summary.txt` into `folder`, each atomically.
pub fn write(folder: &Path, timeline: &Timeline, name: &str) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be created", folder.display()))?;
    let summary = Summary::of(timeline);
    let files = [
        ("trace.json", chrome(timeline).to_string()),
        ("timeline.svg", timeline_plot(timeline, name).svg()),
        ("summary.json", serde_json::to_string_pretty(&summary)? + "\n"),
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

    #[test]
    fn a_timeline_shows_the_innermost_span() {
        let timeline = Timeline {
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
        };
        let rects = timeline_plot(&timeline, "t").rects;
        let shown = rects.iter().map(|r| (&*r.label, r.from, r.to));
        assert!(shown.eq([("step", 0.0, 0.1), ("forward", 0.1, 0.7), ("step", 0.7, 0.9)]));
    }
}
