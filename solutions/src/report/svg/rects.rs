//! Rectangles in rows: timelines.

use std::collections::BTreeMap;

use super::{
    axis::Axis,
    lines::COLOURS,
    picture::{Entry, Picture, width_of},
};

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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RectPlot {
    /// The title, above the plot.
    pub title: String,
    /// The label of the x axis, with its unit.
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

/// Height of a row, and of the rectangles in it, pixels.
const ROW: f64 = 24.0;
const HIGH: f64 = 21.0;
/// Rectangles thinner than this, pixels, are merged.
const COLUMN: f64 = 3.0;
/// Width of a letter of the labels in the rectangles, pixels.
const SMALL: f64 = 6.9;

impl RectPlot {
    /// The picture: an `<svg>` element for a page, or a whole file.
    pub fn svg(&self) -> String {
        let mut out = Picture::new(self.width);
        // Apart from the other rules, because plots on phones have no text of this size.
        out.style(".cp .r{stroke:var(--p);stroke-width:.5}.cp .rt{fill:var(--p);font-size:11px;pointer-events:none}");
        let entries = self.legend.iter().map(|(colour, name)| Entry {
            pen: format!("fill=\"var(--c{})\"", colour % COLOURS),
            sample: "m0 -6h12v12h-12z",
            indent: 17.0,
            name,
        });
        let entries: Vec<Entry> = entries.collect();
        let top = 31.0 + out.legend(&entries);
        let names = self.rows.iter().map(|name| 12.0 + width_of(name));
        let (left, right) = (names.fold(8.0, f64::max), self.width - 16.0);
        for (i, name) in self.rows.iter().enumerate() {
            out.text("", (left - 8.0, top + ROW * (i as f64 + 0.5) + 4.5), "end", name);
        }
        let ends = [self.x_range.0, self.x_range.1];
        let axis = Axis::over(ends.into_iter(), false, true, (self.width / 90.0) as usize);
        let px = |x: f64| left + axis.share(x).clamp(0.0, 1.0) * (right - left);
        self.draw_rects(&mut out, px, top);
        let count = self.rects.iter().map(|r| r.row + 1).max().unwrap_or(0);
        let bottom = top + ROW * count.max(self.rows.len()) as f64;
        let description = format!("{}. {}", self.title, self.describe);
        let ticks = axis.labelled_ticks();
        out.x_axis(&axis, &ticks, (left, right, bottom), &self.x_label);
        out.end(bottom + 46.0, &self.title, &description)
    }

    fn draw_rects(&self, out: &mut Picture, px: impl Fn(f64) -> f64, top: f64) {
        let y = |row: usize| top + ROW * row as f64 + 2.0;
        let usable = |r: &&Rect| r.from.is_finite() && r.to.is_finite() && r.to > r.from;
        let usable = self.rects.iter().filter(usable);
        let placed = usable.map(|r| (px(r.from), px(r.to), r));
        let (thin, wide): (Vec<_>, Vec<_>) = placed.partition(|(from, to, _)| to - from < COLUMN);
        // Of rectangles that are too thin to see, each column has one stripe per colour, as wide as all of that colour.
        let mut columns: BTreeMap<(usize, i64), BTreeMap<usize, f64>> = BTreeMap::new();
        for (from, to, r) in thin {
            // A rectangle that extends into the next column is split.
            let column = (from / COLUMN).floor() as i64;
            let end = to.min((column + 1) as f64 * COLUMN);
            for (column, width) in [(column, end - from), (column + 1, to - end)] {
                let stripes = columns.entry((r.row, column)).or_default();
                *stripes.entry(r.colour % COLOURS).or_default() += width;
            }
        }
        for ((row, column), stripes) in columns {
            let mut x = column as f64 * COLUMN;
            for (colour, width) in stripes.into_iter().filter(|stripe| stripe.1 > 0.0) {
                let stripe = format!("M{x:.1} {:.0}h{width:.2}v{HIGH}h-{width:.2}z", y(row));
                out.path(format!("fill=\"var(--c{colour})\""), stripe);
                x += width;
            }
        }
        for (from, to, r) in wide {
            let (width, y) = (to - from, y(r.row));
            let place = format!("x=\"{from:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{HIGH}\"");
            let attributes = format!("class=\"r\" {place}");
            out.shape("rect", attributes, r.colour % COLOURS, &r.hover);
            let (room, letters) = (((width - 8.0) / SMALL).max(0.0) as usize, r.label.chars().count());
            // A label of which less than half would be left says nothing; the tooltip has it.
            if room >= letters.min(3) && 2 * room > letters {
                let mut label = r.label.clone();
                if letters > room {
                    label = label.chars().take(room - 1).chain(['…']).collect();
                }
                out.text("rt", (from + 4.0, y + 14.5), "start", &label);
            }
        }
    }
}
