//! Rectangles in rows: timelines and flame graphs.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    axis::Axis,
    draw::{STYLE, draw_text, draw_x_axis},
    legend::{self, LETTER, rows_of},
};
use crate::report::html::escape;

/// One rectangle.
#[derive(Clone, Debug, PartialEq)]
pub struct Rect {
    /// Its row; 0 is at the top.
    pub row: usize,
    /// Its left end, in the units of the x axis.
    pub from: f64,
    /// Its right end.
    pub to: f64,
    /// Its colour, 0 to 7.
    pub colour: usize,
    /// Its label, which is drawn if there is space.
    pub label: String,
    /// Its tooltip.
    pub hover: String,
}

/// Rectangles in rows over one axis. The colours follow the reader's light or dark theme.
#[derive(Clone, Debug, PartialEq)]
pub struct RectPlot {
    /// The title, above the plot.
    pub title: String,
    /// The label of the x axis, with its unit; empty: no axis.
    pub x_label: String,
    /// Names of the rows; empty: none.
    pub rows: Vec<String>,
    /// The rectangles.
    pub rects: Vec<Rect>,
    /// The meaning of each colour.
    pub legend: Vec<(usize, String)>,
    /// Smallest and largest x.
    pub x_range: (f64, f64),
    /// Width in pixels; it scales with the page.
    pub width: f64,
    /// The plot as a sentence, for screen readers.
    pub describe: String,
}

/// Height of a row, pixels.
const ROW: f64 = 24.0;
/// Rectangles thinner than this, pixels, are merged.
const COLUMN: f64 = 3.0;
/// Width of a letter of the labels in the rectangles, pixels.
const SMALL: f64 = 6.9;

impl RectPlot {
    /// The picture: an `<svg>` element for a page, or a whole file.
    pub fn svg(&self) -> String {
        let widest = self.rows.iter().map(|r| r.chars().count()).max().unwrap_or(0);
        let left = if widest == 0 {
            8.0
        } else {
            12.0 + LETTER * widest as f64
        };
        let rows = self.legend_rows();
        let top = rows.last().map_or(30.0, |last| last.1 + 31.0 + legend::ROW);
        let count = self.rects.iter().map(|r| r.row + 1).max().unwrap_or(0);
        let bottom = top + ROW * count.max(self.rows.len()) as f64;
        let height = bottom + if self.x_label.is_empty() { 8.0 } else { 46.0 };
        let right = self.width - 16.0;
        let mut out = format!(
            "<svg class=\"cp\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {height}\" width=\"{0}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{1}\">{STYLE}<style>.cp .r{{stroke:var(--p);stroke-width:.5}}\
             .cp .rt{{fill:var(--p);font-size:11px;pointer-events:none}}</style><text class=\"t\" x=\"2\" y=\"16\">{2}</text>",
            self.width,
            escape(&format!("{}. {}", self.title, self.describe)),
            escape(&self.title),
        );
        self.draw_legend(&mut out);
        for (i, name) in self.rows.iter().enumerate() {
            let y = top + ROW * (i as f64 + 0.5) + 4.5;
            let x = left - 8.0;
            draw_text(&mut out, (x, y), "end", name);
        }
        let axis = Axis::over(
            [self.x_range.0, self.x_range.1].into_iter(),
            false,
            true,
            (self.width / 90.0) as usize,
        );
        let px = |x: f64| left + axis.share(x).clamp(0.0, 1.0) * (right - left);
        self.draw_rects(&mut out, &px, top);
        if !self.x_label.is_empty() {
            let place = (left, right, bottom, self.width);
            draw_x_axis(&mut out, (&axis, &axis.labelled_ticks()), place, &self.x_label);
        }
        out.push_str("</svg>");
        out
    }

    fn legend_rows(&self) -> Vec<(f64, f64)> {
        let widths = self
            .legend
            .iter()
            .map(|(_, name)| 32.0 + LETTER * name.chars().count() as f64);
        rows_of(widths, self.width)
    }

    fn draw_legend(&self, out: &mut String) {
        for ((colour, name), (x, y)) in self.legend.iter().zip(self.legend_rows()) {
            let _ = write!(
                out,
                "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\" fill=\"var(--c{})\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                y + 28.0,
                colour % 8,
                x + 17.0,
                y + 38.0,
                escape(name)
            );
        }
    }

    fn draw_rects(&self, out: &mut String, px: &dyn Fn(f64) -> f64, top: f64) {
        let usable = |r: &&Rect| r.from.is_finite() && r.to.is_finite() && r.to > r.from;
        let (mut wide, mut thin) = (Vec::new(), Vec::new());
        for r in self.rects.iter().filter(usable) {
            let (from, to) = (px(r.from), px(r.to));
            let list = if to - from < COLUMN { &mut thin } else { &mut wide };
            list.push((from, to, r));
        }
        draw_thin(out, &thin, top);
        for (from, to, r) in wide {
            let (width, y) = (to - from, top + ROW * r.row as f64 + 2.0);
            let _ = write!(
                out,
                "<rect class=\"r\" x=\"{from:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"var(--c{})\"><title>{}</title></rect>",
                ROW - 3.0,
                r.colour % 8,
                escape(&r.hover)
            );
            let (room, letters) = (((width - 8.0) / SMALL).max(0.0) as usize, r.label.chars().count());
            // A label of which less than half would be left says nothing; the tooltip has it.
            if room >= 3 && 2 * room > letters {
                let long = letters > room;
                let keep = if long { room - 1 } else { room };
                let mut label: String = r.label.chars().take(keep).collect();
                if long {
                    label.push('…');
                }
                let _ = write!(
                    out,
                    "<text class=\"rt\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    from + 4.0,
                    y + 14.5,
                    escape(&label)
                );
            }
        }
    }
}

/// Draws rectangles that are too thin to see: in each column one stripe per colour, as wide as all of that colour together.
fn draw_thin(out: &mut String, thin: &[(f64, f64, &Rect)], top: f64) {
    let mut columns: BTreeMap<(usize, i64), BTreeMap<usize, f64>> = BTreeMap::new();
    for (from, to, r) in thin {
        let column = (from / COLUMN).floor() as i64;
        let end = (column + 1) as f64 * COLUMN;
        // A rectangle that extends into the next column is split.
        let mut add = |column: i64, width: f64| {
            let stripes = columns.entry((r.row, column)).or_default();
            *stripes.entry(r.colour % 8).or_default() += width;
        };
        add(column, to.min(end) - from);
        if *to > end {
            add(column + 1, to - end);
        }
    }
    for ((row, column), stripes) in columns {
        let mut x = column as f64 * COLUMN;
        let y = top + ROW * row as f64 + 2.0;
        for (colour, width) in stripes {
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.2}\" height=\"{:.0}\" fill=\"var(--c{colour})\"/>",
                ROW - 3.0
            );
            x += width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(from: f64, to: f64, colour: usize) -> Rect {
        Rect {
            row: 0,
            from,
            to,
            colour,
            label: "forward <1>".into(),
            hover: "forward".into(),
        }
    }

    fn plot(rects: Vec<Rect>) -> RectPlot {
        RectPlot {
            title: "a & b".into(),
            x_label: "ms".into(),
            rows: vec!["main".into()],
            rects,
            legend: vec![(0, "kernel".into())],
            x_range: (0.0, 100.0),
            width: 640.0,
            describe: String::new(),
        }
    }

    #[test]
    fn thousands_of_thin_rectangles_are_merged() {
        let thin = (0..20_000).map(|i| rect(f64::from(i) * 0.005, f64::from(i) * 0.005 + 0.004, 0));
        let svg = plot(thin.collect()).svg();
        assert!(svg.len() < 40_000, "{}", svg.len());
        assert!(
            svg.contains("width=\"2."),
            "the coloured width is that of the spans: {svg}"
        );
        // Rectangles with another colour between them are not merged.
        let svg = plot(vec![rect(0.0, 30.0, 0), rect(30.0, 60.0, 1), rect(60.0, 90.0, 0)]).svg();
        assert_eq!(svg.matches("class=\"r\"").count(), 3);
    }

    #[test]
    fn labels_are_escaped_and_drawn_if_there_is_space() {
        let svg = plot(vec![rect(0.0, 90.0, 0), rect(90.0, 91.0, 1)]).svg();
        assert_eq!(svg.matches("forward &lt;1&gt;</text>").count(), 1, "{svg}");
        assert!(svg.contains("a &amp; b"), "{svg}");
    }

    #[test]
    fn any_numbers_are_drawn() {
        for (from, to) in [(f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e308, 1e308), (5.0, 5.0)] {
            let svg = plot(vec![rect(from, to, 9)]).svg();
            assert!(
                svg.ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
        }
        let empty = RectPlot {
            x_range: (0.0, 0.0),
            ..plot(Vec::new())
        };
        assert!(empty.svg().ends_with("</svg>"));
    }
}
