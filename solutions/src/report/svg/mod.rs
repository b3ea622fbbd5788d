//! Line plots as SVG: for the run's page, for a lesson's experiment, for a file of their own.
//!
//! ```
//! use canopy::report::svg::{LinePlot, Series};
//! let loss = Series::new("training", (1..=5).map(|e| (f64::from(e), 1.0 / f64::from(e))).collect());
//! let picture = LinePlot::new("Loss", "epoch", "cross-entropy (nats)").with(loss).svg();
//! assert!(picture.starts_with("<svg") && picture.contains("training"));
//! ```

mod axis;
mod draw;
mod rects;

pub use axis::{Axis, tick_label};
pub use rects::{Rect, RectPlot};

/// One line of a plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// x and y. A value that is not finite (or, on a logarithmic axis, not above zero) breaks the line.
    pub points: Vec<(f64, f64)>,
    /// Drawn in dashes, as limits and references are.
    pub dashed: bool,
    /// Drawn as dots that no line joins, as the points of a cloud are.
    pub dots: bool,
}

impl Series {
    /// An unbroken line through `points`.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            dashed: false,
            dots: false,
        }
    }

    /// The same points as dots.
    pub fn dots(mut self) -> Self {
        self.dots = true;
        self
    }

    /// The same line in dashes.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }
}

/// A point to point at.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where, in the units of the axes.
    pub at: (f64, f64),
    /// What is said of it.
    pub label: String,
}

/// Lines over two axes. Colours follow the reader's light or dark theme, and differ to a colour-blind eye.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    /// Above the plot.
    pub title: String,
    /// Under the x axis, with its unit.
    pub x_label: String,
    /// Above the y axis, with its unit.
    pub y_label: String,
    /// The lines, at most eight of distinct colour.
    pub series: Vec<Series>,
    /// Powers of ten along x.
    pub log_x: bool,
    /// Powers of ten along y.
    pub log_y: bool,
    /// Ticks along x at whole numbers only, as epochs want.
    pub whole_x: bool,
    /// Least and greatest y to show at least, such as 0 and 1 for a share.
    pub y_range: Option<(f64, f64)>,
    /// y as per cent of one.
    pub percent: bool,
    /// Points to point at.
    pub marks: Vec<Mark>,
    /// Width and height in pixels; it scales with the page.
    pub size: (f64, f64),
}

impl LinePlot {
    /// An empty plot, 460 × 300 pixels, both axes linear.
    pub fn new(title: impl Into<String>, x_label: impl Into<String>, y_label: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            series: Vec::new(),
            log_x: false,
            log_y: false,
            whole_x: false,
            y_range: None,
            percent: false,
            marks: Vec::new(),
            size: (460.0, 300.0),
        }
    }

    /// The plot with one more line.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// The picture: an `<svg>` element that can stand in a page or in a file of its own.
    pub fn svg(&self) -> String {
        draw::draw(self)
    }

    /// Points that the axes can show.
    fn shown(&self, (x, y): (f64, f64)) -> bool {
        x.is_finite() && y.is_finite() && (!self.log_x || x > 0.0) && (!self.log_y || y > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_finite_break_the_line_and_are_counted() {
        let points = vec![
            (1.0, 2.0),
            (2.0, f64::NAN),
            (3.0, 1.0),
            (4.0, f64::INFINITY),
            (5.0, 0.5),
            (6.0, 0.4),
        ];
        let svg = LinePlot::new("loss", "epoch", "nats")
            .with(Series::new("training", points))
            .svg();
        assert!(svg.contains("2 values cannot be drawn"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        // Of the three stretches, two are of one point and one is a line.
        assert_eq!(svg.matches('L').count(), 1, "{svg}");
    }

    #[test]
    fn any_shape_of_data_draws() {
        let shapes: [Vec<(f64, f64)>; 6] = [
            vec![],
            vec![(1.0, 0.5)],
            vec![(1.0, 0.0), (1.0, 0.0)],
            vec![(f64::NAN, f64::NAN)],
            vec![(-1e300, 1e300), (1e300, -1e300)],
            vec![(1.0, 1e-310), (2.0, 5e-324)],
        ];
        for points in shapes {
            for (log_x, log_y) in [(false, false), (true, true)] {
                let mut plot = LinePlot::new("t", "x", "y").with(Series::new("s", points.clone()));
                (plot.log_x, plot.log_y) = (log_x, log_y);
                let svg = plot.svg();
                assert!(
                    svg.ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"),
                    "{svg}"
                );
            }
        }
    }

    #[test]
    fn a_long_line_is_thinned_but_keeps_its_peaks() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[54_321].1 = 9.0;
        let plot = LinePlot::new("t", "x", "y").with(Series::new("s", points.clone()));
        assert!(plot.svg().len() < 60_000);
        points[54_321].1 = 1.0;
        assert_ne!(
            plot.svg(),
            LinePlot {
                series: vec![Series::new("s", points)],
                ..plot.clone()
            }
            .svg()
        );
    }

    #[test]
    fn dots_are_not_joined() {
        let points = vec![(0.0, 0.0), (1.0, 2.0), (f64::NAN, 0.0), (2.0, 1.0)];
        let svg = LinePlot::new("tree", "x", "z")
            .with(Series::new("points", points).dots())
            .svg();
        assert_eq!(svg.matches("h0").count(), 3, "{svg}");
        assert!(!svg.contains("<circle") && !svg.contains('L'), "{svg}");
    }

    #[test]
    fn names_are_escaped() {
        let svg = LinePlot::new("<script>", "a&b", "\"")
            .with(Series::new("</svg>", vec![(0.0, 0.0)]))
            .svg();
        assert!(
            !svg.contains("<script>") && svg.matches("</svg>").count() == 1,
            "{svg}"
        );
    }
}
