//! The legend of a plot, in as many rows as it needs, and the colours of the lines.

use std::fmt::Write;

use super::{LinePlot, Series};
use crate::report::html::escape;

/// Width of a letter of 13 pixels in DejaVu Sans, the widest of the usual fonts, in pixels.
pub(super) const LETTER: f64 = 8.0;
/// Height of a row, pixels.
pub(super) const ROW: f64 = 21.0;
/// Up to this many dots without a line are as large as those of a line.
const FEW_DOTS: usize = 20;
/// Number of distinct colours.
const COLOURS: usize = 8;

/// The lines with their colours. A contour has no colour of its own.
pub(super) fn coloured(plot: &LinePlot) -> impl Iterator<Item = (usize, &Series)> {
    let mut next = 0;
    plot.series.iter().map(move |s| {
        let colour = next % COLOURS;
        next += usize::from(!s.contour);
        (colour, s)
    })
}

/// Positions of entries of these widths in rows that end before `width`, pixels.
pub(super) fn rows_of(widths: impl Iterator<Item = f64>, width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (2.0, 0.0);
    widths
        .map(|wide| {
            if x > 2.0 && x + wide > width {
                (x, y) = (2.0, y + ROW);
            }
            let at = (x, y);
            x += wide;
            at
        })
        .collect()
}

/// The lines that the legend lists: those with a name that is not drawn beside the line.
fn listed(plot: &LinePlot) -> Vec<(usize, &Series)> {
    let named = |s: &(usize, &Series)| !s.1.name.is_empty() && !s.1.labelled;
    let all: Vec<_> = coloured(plot).filter(named).collect();
    if plot.series.len() < 2 { Vec::new() } else { all }
}

/// Where the entries of the legend are drawn.
pub(super) fn legend_rows(plot: &LinePlot) -> Vec<(f64, f64)> {
    let listed = listed(plot);
    let widths = listed
        .iter()
        .map(|(_, s)| 42.0 + LETTER * s.name.chars().count() as f64);
    rows_of(widths, plot.size.0)
}

/// Draws the names of the lines below the title.
pub(super) fn draw_legend(out: &mut String, plot: &LinePlot) {
    for ((colour, s), (x, y)) in listed(plot).into_iter().zip(legend_rows(plot)) {
        let line = match few(s) {
            "" if s.dots => "m5 0h0m6 0h0m6 0h0",
            "" => "h22",
            _ => "m3 0h0m8 0h0m8 0h0",
        };
        let _ = write!(
            out,
            "<path {} d=\"M{x:.0} {:.0}{line}\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            pen(s, colour),
            y + 34.0,
            x + 28.0,
            y + 38.0,
            escape(&s.name)
        );
    }
}

/// The class and the colour of a line.
pub(super) fn pen(series: &Series, colour: usize) -> String {
    if series.contour {
        return "class=\"a\" opacity=\".5\"".into();
    }
    let dash = if series.dashed { " d" } else { "" };
    format!("class=\"l{dash}\"{} stroke=\"var(--c{colour})\"", few(series))
}

/// The width of dots that are few.
pub(super) fn few(series: &Series) -> &'static str {
    let is_few = series.dots && series.points.len() <= FEW_DOTS;
    if is_few { " style=\"stroke-width:6\"" } else { "" }
}
