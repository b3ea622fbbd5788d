//! Draws a line plot.

use std::fmt::Write;

use super::{
    LinePlot, Series,
    axis::{Axis, tick_label},
    legend::{LETTER, ROW, coloured, draw_legend, few, legend_rows, pen},
};
use crate::report::html::escape;

/// Colours after Okabe and Ito, which colour-blind readers can tell apart; lighter ones for dark pages.
pub(super) const STYLE: &str = "<style>.cp{--i:#1c2420;--m:#5a655f;--g:#dfe4e0;--p:#fff;--c0:#0067a5;--c1:#c84e00;--c2:#007a5a;--c3:#a8437f;--c4:#8a6d00;--c5:#3b8dbd;--c6:#5c5c5c;--c7:#7a3e9d;font:13px system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif;max-width:100%;height:auto}.cp text{fill:var(--m)}.cp .t{fill:var(--i);font-weight:600;font-size:15px}.cp .g{stroke:var(--g);stroke-width:1;fill:none}.cp .a{stroke:var(--m);stroke-width:1;fill:none}.cp .l{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}.cp .d{stroke-dasharray:6 5}.cp .o{stroke-width:3.4}.cp .m{stroke:var(--m);stroke-dasharray:2 3}.cp .k{fill:var(--p);stroke:var(--i);stroke-width:2}.cp .kt{fill:var(--i);paint-order:stroke;stroke:var(--p);stroke-width:4px;stroke-linejoin:round}@media (prefers-color-scheme:dark){.cp{--i:#e8eeea;--m:#a3b0a9;--g:#2d3732;--p:#151b18;--c0:#56b4e9;--c1:#f08a3c;--c2:#3fcf9f;--c3:#e39ac6;--c4:#e6c84f;--c5:#9ad0f0;--c6:#b5b5b5;--c7:#c79be8}}@media print{.cp{--i:#000;--m:#333;--g:#ddd;--p:#fff;--c0:#0067a5;--c1:#c84e00;--c2:#007a5a;--c3:#a8437f;--c4:#8a6d00;--c5:#3b8dbd;--c6:#5c5c5c;--c7:#7a3e9d}}</style>";
/// Points per line that are drawn, at most: a plot is not wider than this in pixels.
const MOST_POINTS: usize = 1200;
/// A line of at most this many points has a dot with a tooltip at each of them.
const MOST_DOTS: usize = 60;

/// The frame of the plot, pixels.
struct Frame<'a> {
    plot: &'a LinePlot,
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame<'_> {
    fn px(&self, x: f64) -> f64 {
        self.left + self.x.share(x) * (self.right - self.left)
    }

    fn py(&self, y: f64) -> f64 {
        self.bottom - self.y.share(y) * (self.bottom - self.top)
    }

    fn y_text(&self, y: f64) -> String {
        if self.plot.percent {
            format!("{}\u{a0}%", tick_label(100.0 * y))
        } else {
            tick_label(y)
        }
    }
}

impl<'a> Frame<'a> {
    /// Axes that cover everything shown, with space for their labels.
    fn new(plot: &'a LinePlot) -> Self {
        let shown = || {
            plot.series
                .iter()
                .flat_map(|s| &s.points)
                .copied()
                .filter(|&p| plot.shown(p))
        };
        let forced = plot.y_range.map_or([f64::NAN; 2], |(l, h)| [l, h]);
        let (width, height) = plot.size;
        let y = Axis::over(shown().map(|p| p.1).chain(forced), plot.log_y, false, 5);
        let own = plot.x_ticks.iter().map(|t| t.0);
        let mut x = Axis::over(
            shown().map(|p| p.0).chain(own),
            plot.log_x,
            true,
            (width / 75.0) as usize,
        );
        if plot.whole_x {
            x.ticks.retain(|t| t.fract() == 0.0);
        }
        let widest = y
            .ticks
            .iter()
            .map(|&t| tick_label(t).chars().count())
            .max()
            .unwrap_or(1);
        let legend = legend_rows(plot).last().map_or(0.0, |l| l.1 + ROW);
        Self {
            plot,
            x,
            y,
            left: 14.0 + LETTER * (widest + 2 * usize::from(plot.percent)) as f64,
            right: width - 16.0,
            top: 58.0 + legend,
            bottom: height - 46.0,
        }
    }
}

impl LinePlot {
    /// The picture: an `<svg>` element for a page, or a whole file.
    pub fn svg(&self) -> String {
        let plot = self;
        let (width, height) = plot.size;
        let mut out = format!(
            "<svg class=\"cp\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{}\">{STYLE}<text class=\"t\" x=\"2\" y=\"16\">{}</text>",
            escape(&describe(plot)),
            escape(&plot.title)
        );
        let frame = Frame::new(plot);
        draw_legend(&mut out, plot);
        draw_axes(&mut out, &frame);
        for (colour, series) in coloured(plot) {
            draw_series(&mut out, &frame, series, colour);
        }
        draw_marks(&mut out, &frame);
        draw_note(&mut out, &frame);
        out.push_str("</svg>");
        out
    }
}

/// Notes that there is nothing to draw, or how many values could not be drawn.
fn draw_note(out: &mut String, f: &Frame) {
    let lines = f.plot.series.iter().filter(|s| !s.contour);
    let all = lines.flat_map(|s| &s.points);
    let (total, lost) = all.fold((0, 0), |(n, lost), &p| {
        (n + 1, lost + usize::from(!f.plot.shown(p)))
    });
    let note = match lost {
        _ if total == lost => "nothing to draw yet".to_string(),
        0 => return,
        1 => "1 value cannot be drawn (not finite)".to_string(),
        n => format!("{n} values cannot be drawn (not finite)"),
    };
    let (x, y) = (f.right - 6.0, f.top + 14.0);
    let _ = write!(
        out,
        "<text class=\"kt\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{note}</text>"
    );
}

/// The plot as a sentence, for screen readers.
fn describe(plot: &LinePlot) -> String {
    let mut text = format!("{}: {} over {}.", plot.title, plot.y_label, plot.x_label);
    for s in plot.series.iter().filter(|s| !s.contour) {
        let good: Vec<_> = s.points.iter().copied().filter(|&p| plot.shown(p)).collect();
        let (Some(first), Some(last)) = (good.first(), good.last()) else {
            continue;
        };
        let say = |y: f64| {
            if plot.percent {
                format!("{:.1} %", 100.0 * y)
            } else {
                format!("{y:.4}")
            }
        };
        let _ = write!(
            text,
            " {} from {} at {} to {} at {}.",
            s.name,
            say(first.1),
            tick_label(first.0),
            say(last.1),
            tick_label(last.0)
        );
    }
    text
}

fn draw_axes(out: &mut String, f: &Frame) {
    draw_text(out, (2.0, f.top - 12.0), "start", &f.plot.y_label);
    for &t in &f.y.ticks {
        let y = f.py(t);
        let _ = write!(
            out,
            "<path class=\"g\" d=\"M{:.1} {y:.1}H{:.1}\"/>",
            f.left, f.right
        );
        draw_text(out, (f.left - 8.0, y + 4.5), "end", &f.y_text(t));
    }
    let own = f.plot.x_ticks.iter().cloned();
    let within = |t: &(f64, String)| (-1e-9..=1.0 + 1e-9).contains(&f.x.share(t.0));
    let ticks = if f.plot.x_ticks.is_empty() {
        f.x.labelled_ticks()
    } else {
        own.filter(within).collect()
    };
    let place = (f.left, f.right, f.bottom, f.plot.size.0);
    draw_x_axis(out, (&f.x, &ticks), place, &f.plot.x_label);
}

/// Draws an x axis with ticks, from `left` to `right` at the height `bottom`, in a picture of that width.
pub(super) fn draw_x_axis(
    out: &mut String,
    (axis, ticks): (&Axis, &[(f64, String)]),
    (left, right, bottom, width): (f64, f64, f64, f64),
    label: &str,
) {
    let _ = write!(out, "<path class=\"a\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>");
    for (t, label) in ticks {
        // A long label at the right end stays inside the picture.
        let half = LETTER / 2.0 * label.chars().count() as f64;
        let x = left + axis.share(*t) * (right - left);
        let _ = write!(out, "<path class=\"a\" d=\"M{x:.1} {bottom:.1}v5\"/>");
        draw_text(out, (x.min(width - half), bottom + 19.0), "middle", label);
    }
    draw_text(out, ((left + right) / 2.0, bottom + 38.0), "middle", label);
}

pub(super) fn draw_text(out: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escape(text);
    let _ = write!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// Draws dots as lines of length 0 with round ends. A few are as large as those of a line.
fn draw_dots(out: &mut String, f: &Frame, series: &Series, colour: usize) {
    let shown = series.points.iter().filter(|&&p| f.plot.shown(p));
    let path: String = shown
        .map(|&(x, y)| format!("M{:.1} {:.1}h0", f.px(x), f.py(y)))
        .collect();
    if !path.is_empty() {
        let _ = write!(
            out,
            "<path class=\"l o\"{} stroke=\"var(--c{colour})\" d=\"{path}\"/>",
            few(series)
        );
    }
}

fn draw_series(out: &mut String, f: &Frame, series: &Series, colour: usize) {
    if series.dots {
        return draw_dots(out, f, series, colour);
    }
    let mut path = String::new();
    let mut alone = Vec::new();
    for stretch in series.points.split(|&p| !f.plot.shown(p)) {
        if let [one] = stretch {
            alone.push(*one);
        }
        for (i, (x, y)) in thin(stretch).into_iter().enumerate() {
            let _ = write!(
                path,
                "{}{:.1} {:.1}",
                if i == 0 { 'M' } else { 'L' },
                f.px(x),
                f.py(y)
            );
        }
    }
    if !path.is_empty() {
        let _ = write!(out, "<path {} d=\"{path}\"/>", pen(series, colour));
    }
    if series.labelled {
        draw_label(out, f, series);
    }
    // Dots with tooltips. A long line has them only at isolated points, which no line shows.
    let all = series.points.len() <= MOST_DOTS && !series.dashed && !series.contour;
    let dots = if all {
        series
            .points
            .iter()
            .copied()
            .filter(|&p| f.plot.shown(p))
            .collect()
    } else {
        alone
    };
    for (x, y) in dots.into_iter().take(MOST_POINTS) {
        let value = if f.plot.percent {
            format!("{:.1} %", 100.0 * y)
        } else {
            format!("{y:.4}")
        };
        let _ = write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"var(--c{colour})\"><title>{}, {} {}: {value}</title></circle>",
            f.px(x),
            f.py(y),
            escape(&series.name),
            escape(&f.plot.x_label),
            tick_label(x)
        );
    }
}

/// The name of a line above its last point, inside the picture.
fn draw_label(out: &mut String, f: &Frame, series: &Series) {
    let last = series.points.iter().copied().rfind(|&p| f.plot.shown(p));
    if let Some((x, y)) = last {
        let half = LETTER / 2.0 * series.name.chars().count() as f64;
        let _ = write!(
            out,
            "<text class=\"kt\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            f.px(x).clamp(half, f.plot.size.0 - half),
            f.py(y) - 9.0,
            escape(&series.name)
        );
    }
}

fn draw_marks(out: &mut String, f: &Frame) {
    for mark in f.plot.marks.iter().filter(|m| f.plot.shown(m.at)) {
        let (x, y) = (f.px(mark.at.0), f.py(mark.at.1));
        let (anchor, dx, text) = label_place(f, (x, y), LETTER * mark.label.chars().count() as f64);
        let end = if text > y { text - 14.0 } else { text + 5.0 };
        let _ = write!(
            out,
            "<path class=\"g m\" d=\"M{x:.1} {y:.1}V{end:.1}\"/><circle class=\"k\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>\
             <text class=\"kt\" x=\"{:.1}\" y=\"{text:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x + dx,
            escape(&mark.label)
        );
    }
}

/// The anchor of a mark's label of the given width, how far it is to the right of the point, and its base line. It is at the top or
/// the bottom of the plot, with a leader to the point at `(x, y)`: where it covers the least of the lines, best at the opposite edge.
fn label_place(f: &Frame, (x, y): (f64, f64), width: f64) -> (&'static str, f64, f64) {
    let mut anchors = [("start", -3.0), ("end", 3.0)];
    let mut edges = [f.bottom - 12.0, f.top + 14.0];
    if x > (f.left + f.right) / 2.0 {
        anchors.reverse();
    }
    if y >= (f.top + f.bottom) / 2.0 {
        edges.reverse();
    }
    let places = edges
        .into_iter()
        .flat_map(|text| anchors.map(|(anchor, dx)| (anchor, dx, text)));
    let covered = |&(anchor, dx, text): &(&str, f64, f64)| {
        let left = if anchor == "end" { x + dx - width } else { x + dx };
        if left < 0.0 || left + width > f.plot.size.0 {
            return usize::MAX;
        }
        let inside = |&&(at, height): &&(f64, f64)| {
            let (at, height) = (f.px(at), f.py(height));
            (left - 4.0..left + width + 4.0).contains(&at) && (text - 16.0..text + 8.0).contains(&height)
        };
        let points = f.plot.series.iter().flat_map(|series| &series.points);
        points.filter(inside).count()
    };
    places.min_by_key(covered).unwrap_or(("start", -3.0, f.bottom))
}

/// At most [`MOST_POINTS`] of the points: the first, the smallest, the largest and the last of each segment.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let mut out = Vec::with_capacity(MOST_POINTS);
    for bucket in points.chunks(points.len().div_ceil(MOST_POINTS / 4)) {
        let by = |a: &usize, b: &usize| bucket[*a].1.total_cmp(&bucket[*b].1);
        let last = bucket.len() - 1;
        let mut keep = [
            0,
            (0..=last).min_by(by).unwrap_or(0),
            (0..=last).max_by(by).unwrap_or(0),
            last,
        ];
        keep.sort_unstable();
        let mut before = None;
        for k in keep {
            if before != Some(k) {
                out.push(bucket[k]);
            }
            before = Some(k);
        }
    }
    out
}
