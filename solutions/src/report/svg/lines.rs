//! Draws a line plot.

use std::fmt::Write;

use super::{
    LinePlot, Series,
    axis::{Axis, tick_label},
    picture::{Entry, Picture, width_of},
};

/// Number of distinct colours.
pub(super) const COLOURS: usize = 8;
/// A line of at most this many points has a dot with a tooltip at each of them.
const MOST_DOTS: usize = 60;
/// Up to this many dots without a line are as large as those of a line.
const FEW_DOTS: usize = 20;

impl LinePlot {
    /// The picture: an `<svg>` element for a page, or a whole file.
    pub fn svg(&self) -> String {
        let mut out = Picture::new(self.size.0);
        let mut coloured = Vec::new();
        let mut next = 0;
        for series in &self.series {
            coloured.push((series, next % COLOURS));
            next += usize::from(!series.contour);
        }
        // Not those whose name is beside the line, and a single line has its name in the title.
        let listed = |s: &Series| self.series.len() > 1 && !s.name.is_empty() && !s.labelled;
        let listed = coloured.iter().filter(|(series, _)| listed(series));
        let entries: Vec<Entry> = listed.map(|(series, colour)| entry(series, *colour)).collect();
        let frame = Frame::new(self, 58.0 + out.legend(&entries));
        frame.draw_axes(&mut out);
        for (series, colour) in coloured {
            frame.draw_series(&mut out, series, colour);
        }
        frame.draw_marks(&mut out);
        frame.draw_note(&mut out);
        out.end(self.size.1, &self.title, &self.describe())
    }

    /// Whether the axes can show a point.
    fn shows(&self, (x, y): (f64, f64)) -> bool {
        x.is_finite() && y.is_finite() && (!self.log_x || x > 0.0) && (!self.log_y || y > 0.0)
    }

    /// The points of a line that the axes can show.
    fn shown<'a>(&'a self, series: &'a Series) -> impl DoubleEndedIterator<Item = (f64, f64)> + 'a {
        series.points.iter().copied().filter(|&p| self.shows(p))
    }

    fn value(&self, y: f64) -> String {
        match self.percent {
            true => format!("{:.1} %", 100.0 * y),
            false => format!("{y:.4}"),
        }
    }

    /// The plot in sentences, for screen readers.
    fn describe(&self) -> String {
        let mut text = format!("{}: {} over {}.", self.title, self.y_label, self.x_label);
        for s in self.series.iter().filter(|s| !s.contour) {
            if let (Some(first), Some(last)) = (self.shown(s).next(), self.shown(s).next_back()) {
                let at = |(x, y)| format!("{} at {}", self.value(y), tick_label(x));
                let _ = write!(text, " {} from {} to {}.", s.name, at(first), at(last));
            }
        }
        text
    }
}

fn entry(series: &Series, colour: usize) -> Entry<'_> {
    Entry {
        pen: pen(series, colour),
        sample: if series.dots { "m3 0h0m8 0h0m8 0h0" } else { "h22" },
        indent: 28.0,
        name: &series.name,
    }
}

/// The class and the colour of a line.
fn pen(series: &Series, colour: usize) -> String {
    if series.contour {
        return "class=\"a\" opacity=\".5\"".into();
    }
    let dash = if series.dashed { " d" } else { "" };
    let dots = if series.dots { " o" } else { "" };
    let few = series.dots && series.points.len() <= FEW_DOTS;
    let wide = if few { " style=\"stroke-width:6\"" } else { "" };
    format!("class=\"l{dots}{dash}\"{wide} stroke=\"var(--c{colour})\"")
}

/// The axes of a plot, and where they are, in pixels.
struct Frame<'a> {
    plot: &'a LinePlot,
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl<'a> Frame<'a> {
    /// Axes that cover everything shown, with space for their labels.
    fn new(plot: &'a LinePlot, top: f64) -> Self {
        let shown = || plot.series.iter().flat_map(|s| plot.shown(s));
        let forced = plot.y_range.map_or([f64::NAN; 2], |(low, high)| [low, high]);
        let y = Axis::over(shown().map(|p| p.1).chain(forced), plot.log_y, false, 5);
        let own = plot.x_ticks.iter().map(|t| t.0);
        let (width, height) = plot.size;
        let count = (width / 75.0) as usize;
        let mut x = Axis::over(shown().map(|p| p.0).chain(own), plot.log_x, true, count);
        if plot.whole_x {
            x.ticks.retain(|t| t.fract() == 0.0);
        }
        let labels = y.ticks.iter().map(|&t| width_of(&tick_label(t)));
        let unit = if plot.percent { width_of(" %") } else { 0.0 };
        Self {
            left: 14.0 + unit + labels.fold(0.0, f64::max),
            right: width - 16.0,
            top,
            bottom: height - 46.0,
            plot,
            x,
            y,
        }
    }

    fn px(&self, x: f64) -> f64 {
        self.left + self.x.share(x) * (self.right - self.left)
    }

    fn py(&self, y: f64) -> f64 {
        self.bottom - self.y.share(y) * (self.bottom - self.top)
    }

    fn draw_axes(&self, out: &mut Picture) {
        let (plot, left, right) = (self.plot, self.left, self.right);
        out.text("", (2.0, self.top - 12.0), "start", &plot.y_label);
        for &t in &self.y.ticks {
            let y = self.py(t);
            out.path("class=\"g\"", format!("M{left:.1} {y:.1}H{right:.1}"));
            let label = match plot.percent {
                true => format!("{}\u{a0}%", tick_label(100.0 * t)),
                false => tick_label(t),
            };
            out.text("", (left - 8.0, y + 4.5), "end", &label);
        }
        let mut ticks = plot.x_ticks.clone();
        ticks.retain(|t| (-1e-9..=1.0 + 1e-9).contains(&self.x.share(t.0)));
        if plot.x_ticks.is_empty() {
            ticks = self.x.labelled_ticks();
        }
        out.x_axis(&self.x, &ticks, (left, right, self.bottom), &plot.x_label);
    }

    fn draw_series(&self, out: &mut Picture, series: &Series, colour: usize) {
        let plot = self.plot;
        let (mut path, mut alone) = (String::new(), Vec::new());
        for stretch in series.points.split(|&p| !plot.shows(p)) {
            if let [one] = stretch {
                alone.push(*one);
            }
            for (i, &(x, y)) in stretch.iter().enumerate() {
                let command = if series.dots || i == 0 { 'M' } else { 'L' };
                // A dot is a line of length 0 with round ends.
                let dot = if series.dots { "h0" } else { "" };
                let _ = write!(path, "{command}{:.1} {:.1}{dot}", self.px(x), self.py(y));
            }
        }
        if !path.is_empty() {
            out.path(pen(series, colour), path);
        }
        if let (true, Some((x, y))) = (series.labelled, plot.shown(series).next_back()) {
            let half = width_of(&series.name) / 2.0;
            let inside = self.px(x).clamp(half, plot.size.0 - half);
            out.text("kt", (inside, self.py(y) - 9.0), "middle", &series.name);
        }
        // Dots with tooltips. A long line has them only at isolated points, which no line shows.
        let plain = !series.dashed && !series.contour;
        let circles = match series.dots {
            true => Vec::new(),
            false if plain && series.points.len() <= MOST_DOTS => plot.shown(series).collect(),
            false => alone,
        };
        for (x, y) in circles {
            let at = format!("{} {}", plot.x_label, tick_label(x));
            let name = Some(&series.name).filter(|name| !name.is_empty());
            let name = name.map_or(String::new(), |name| format!("{name}, "));
            let hover = format!("{name}{at}: {}", plot.value(y));
            let grey = if series.contour {
                " style=\"fill:var(--m)\""
            } else {
                ""
            };
            let place = format!("cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"{grey}", self.px(x), self.py(y));
            out.shape("circle", place, colour, &hover);
        }
    }

    fn draw_marks(&self, out: &mut Picture) {
        for mark in self.plot.marks.iter().filter(|m| self.plot.shows(m.at)) {
            let (x, y) = (self.px(mark.at.0), self.py(mark.at.1));
            let (anchor, at, text) = self.label_place((x, y), width_of(&mark.label));
            let end = if text > y { text - 14.0 } else { text + 5.0 };
            out.path("class=\"g m\"", format!("M{x:.1} {y:.1}V{end:.1}"));
            let circle = format!("M{:.1} {y:.1}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0", x - 4.5);
            out.path("class=\"k\"", circle);
            out.text("kt", (at, text), anchor, &mark.label);
        }
    }

    /// Where the label of the mark at `(x, y)` is: its anchor and the point of that. It is at the top or the bottom of the
    /// plot, with a leader to the mark: where it covers the least of the lines, best at the opposite edge.
    fn label_place(&self, (x, y): (f64, f64), width: f64) -> (&'static str, f64, f64) {
        let mut sides = [("start", x - 3.0, x - 3.0), ("end", x + 3.0, x + 3.0 - width)];
        let mut edges = [self.bottom - 12.0, self.top + 14.0];
        if x > (self.left + self.right) / 2.0 {
            sides.reverse();
        }
        if y >= (self.top + self.bottom) / 2.0 {
            edges.reverse();
        }
        let covered = |left: f64, text: f64| {
            if left < 0.0 || left + width > self.plot.size.0 {
                return usize::MAX;
            }
            let points = self.plot.series.iter().flat_map(|series| &series.points);
            let covers = |&&(x, y): &&(f64, f64)| {
                (left - 4.0..left + width + 4.0).contains(&self.px(x))
                    && (text - 16.0..text + 8.0).contains(&self.py(y))
            };
            points.filter(covers).count()
        };
        let places = edges.into_iter().flat_map(|text| sides.map(|side| (side, text)));
        let best = places.min_by_key(|((_, _, left), text)| covered(*left, *text));
        best.map_or(("start", x, y), |((anchor, at, _), text)| (anchor, at, text))
    }

    /// Notes how many values could not be drawn.
    fn draw_note(&self, out: &mut Picture) {
        let lines = self.plot.series.iter().filter(|s| !s.contour);
        let points = lines.flat_map(|s| &s.points);
        let lost = points.filter(|&&p| !self.plot.shows(p)).count();
        if lost > 0 {
            let note = format!("values that cannot be drawn: {lost}");
            out.text("kt", (self.right - 6.0, self.top + 14.0), "end", &note);
        }
    }
}
