//! Parallel coordinates: an axis per quantity, and a line per item through its values.

use std::fmt::Write;

use super::{
    axis::Axis,
    picture::{Picture, width_of},
};

/// One of the axes, with the value of each item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// Its name, above the axis.
    pub name: String,
    /// Logarithmic.
    pub log: bool,
    /// The values of a quantity that is not a number; the items then have their indices.
    pub words: Vec<String>,
    /// One per item; `None` if it has no value.
    pub values: Vec<Option<f64>>,
}

/// Items as lines over parallel axes. Better items have a stronger colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelPlot {
    /// The title, above the plot.
    pub title: String,
    /// The axes, from left to right.
    pub axes: Vec<Coordinate>,
    /// Name of each item, for its tooltip, and how good it is from 0 to 1, which is its colour; `None`: dashed. The first one is
    /// drawn above all others.
    pub items: Vec<(String, Option<f64>)>,
    /// Width and height in pixels; it scales with the page.
    pub size: (f64, f64),
}

/// Distance of the place for items without a value below an axis, pixels.
const BELOW: f64 = 26.0;

impl ParallelPlot {
    /// The picture: an `<svg>` element for a page, or a whole file.
    pub fn svg(&self) -> String {
        let (width, height) = self.size;
        let mut out = Picture::new(width);
        let (top, bottom, side) = (66.0, height - 16.0 - BELOW, 70.0);
        let step = (width - 2.0 * side) / (self.axes.len().max(2) - 1) as f64;
        let mut lines = vec![String::new(); self.items.len()];
        let mut labels = Vec::new();
        for (i, axis) in self.axes.iter().enumerate() {
            let x = side + step * i as f64;
            let scale = axis.scale();
            let y = |value: f64| bottom - scale.share(value) * (bottom - top);
            for (line, value) in lines.iter_mut().zip(&axis.values) {
                let command = if line.is_empty() { 'M' } else { 'L' };
                let _ = write!(line, "{command}{x:.1} {:.1}", value.map_or(bottom + BELOW, y));
            }
            let mut ticks = match axis.words.is_empty() {
                true => scale.labelled_ticks(),
                false => (0..).map(f64::from).zip(axis.words.iter().cloned()).collect(),
            };
            ticks.retain(|(value, _)| (-1e-9..=1.0 + 1e-9).contains(&scale.share(*value)));
            labels.extend(ticks.into_iter().map(|(value, label)| (x, y(value), label)));
            if axis.values.contains(&None) {
                labels.push((x, bottom + BELOW, "–".to_owned()));
            }
            out.path("class=\"a\"", format!("M{x:.1} {top:.1}V{bottom:.1}"));
            let inside = x.clamp(width_of(&axis.name) / 2.0, width - width_of(&axis.name) / 2.0);
            out.text("", (inside, top - 18.0), "middle", &axis.name);
        }
        for ((name, goodness), line) in self.items.iter().zip(lines).rev() {
            let mix = |share: f64| format!("color-mix(in oklab,var(--c0) {:.0}%,var(--g))", 100.0 * share);
            let (dash, colour) = match goodness {
                Some(goodness) => ("", mix(*goodness)),
                None => (" d", "var(--c1)".to_owned()),
            };
            out.shape(
                "path",
                format!("class=\"l{dash}\" style=\"stroke:{colour}\" d=\"{line}\""),
                0,
                name,
            );
        }
        for (x, y, label) in labels {
            out.path("class=\"a\"", format!("M{:.1} {y:.1}h5", x - 5.0));
            out.text("kt", (x - 9.0, y + 4.5), "end", &label);
        }
        let description = format!(
            "{}: {} lines over {} axes.",
            self.title,
            self.items.len(),
            self.axes.len()
        );
        out.end(height, &self.title, &description)
    }
}

impl Coordinate {
    fn scale(&self) -> Axis {
        match self.words.len() {
            0 => Axis::over(self.values.iter().copied().flatten(), self.log, false, 5),
            count => Axis::over([0.0, count as f64 - 1.0].into_iter(), false, true, 1),
        }
    }
}
