//! Plots as SVG, for pages and for files: line plots, timelines and flame graphs.
//!
//! Plotting crates such as plotters write fixed colours and need font metrics. These plots use CSS variables instead, so one
//! picture suits light and dark pages and print, and each value can be read in a tooltip.
//!
//! ```
//! use canopy::report::svg::{LinePlot, Series};
//! let loss = Series::new("training", (1..=5).map(|e| (f64::from(e), 1.0 / f64::from(e))).collect());
//! let picture = LinePlot::new("Loss", "epoch", "cross-entropy (nats)").with(loss).svg();
//! assert!(picture.starts_with("<svg") && picture.contains("training"));
//! ```

mod axis;
mod draw;
mod legend;
mod rects;

pub use axis::{Axis, superscript, tick_label};
pub use rects::{Rect, RectPlot};

/// One line of a plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// x and y. A non-finite value interrupts the line, and so does one that is not above zero on a logarithmic axis.
    pub points: Vec<(f64, f64)>,
    /// Dashed, for limits and references.
    pub dashed: bool,
    /// Dots without a line, for the points of a cloud.
    pub dots: bool,
    /// A thin grey line, for lines of equal height. Where it leaves the picture, its points are not finite.
    pub contour: bool,
    /// The name is drawn above the last point instead of in the legend.
    pub labelled: bool,
}

impl Series {
    /// A solid line through `points`.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            ..Self::default()
        }
    }

    /// The same line as a contour.
    pub fn contour(mut self) -> Self {
        self.contour = true;
        self
    }

    /// The same line with its name above its last point.
    pub fn labelled(mut self) -> Self {
        self.labelled = true;
        self
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

/// A marked point.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Its position, in the units of the axes.
    pub at: (f64, f64),
    /// Its label.
    pub label: String,
}

/// Lines over two axes. The colours follow the reader's light or dark theme, and colour-blind readers can tell them apart.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    /// The title, above the plot.
    pub title: String,
    /// The label of the x axis, with its unit.
    pub x_label: String,
    /// The label of the y axis, with its unit.
    pub y_label: String,
    /// The lines; there are eight distinct colours.
    pub series: Vec<Series>,
    /// Logarithmic x axis.
    pub log_x: bool,
    /// Logarithmic y axis.
    pub log_y: bool,
    /// Ticks on the x axis at integers only, for epochs.
    pub whole_x: bool,
    /// Ticks on the x axis, ascending, with their labels; the axis covers them. If empty: round numbers.
    pub x_ticks: Vec<(f64, String)>,
    /// The y axis includes these values, such as 0 and 1 for a share.
    pub y_range: Option<(f64, f64)>,
    /// Labels y as a percentage of 1.
    pub percent: bool,
    /// Marked points.
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
            x_ticks: Vec::new(),
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

    /// The plot with ticks on the x axis at the values that were measured.
    pub fn ticks_at(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.x_ticks = values.into_iter().map(|v| (v, tick_label(v))).collect();
        self
    }

    /// The plot in the size of the book's figures: their text can be read on a phone.
    pub fn for_the_book(mut self) -> Self {
        self.size = (370.0, 300.0);
        self
    }

    /// Whether the axes can show a point.
    fn shown(&self, (x, y): (f64, f64)) -> bool {
        x.is_finite() && y.is_finite() && (!self.log_x || x > 0.0) && (!self.log_y || y > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_values_interrupt_the_line_and_are_counted() {
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
        // Of the three segments, two have one point and one is a line.
        assert_eq!(svg.matches('L').count(), 1, "{svg}");
    }

    #[test]
    fn data_of_any_shape_are_drawn() {
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
    fn a_long_line_is_thinned_and_keeps_its_peaks() {
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
    fn dots_have_no_line() {
        let points = vec![(0.0, 0.0), (1.0, 2.0), (f64::NAN, 0.0), (2.0, 1.0)];
        let svg = LinePlot::new("tree", "x", "z")
            .with(Series::new("points", points).dots())
            .svg();
        assert_eq!(svg.matches("h0").count(), 3, "{svg}");
        assert!(!svg.contains("<circle") && !svg.contains('L'), "{svg}");
    }

    #[test]
    fn a_long_legend_takes_several_rows() {
        let names = [
            "ring, measured",
            "tree, measured",
            "ring, predicted",
            "tree, predicted",
        ];
        let mut plot = LinePlot::new("t", "x", "y").for_the_book();
        for name in names {
            plot = plot.with(Series::new(name, vec![(1.0, 1.0), (2.0, 2.0)]));
        }
        let svg = plot.svg();
        // Two entries in each row.
        for row in [38, 59] {
            assert_eq!(svg.matches(&format!("y=\"{row}\">")).count(), 2, "{svg}");
        }
    }

    #[test]
    fn ticks_are_where_something_was_measured() {
        let plot = LinePlot::new("t", "x", "y").with(Series::new("s", vec![(1.0, 7.0), (4096.0, 9.0)]));
        let svg = plot.ticks_at([1.0, 64.0, 4096.0]).svg();
        for label in [">1<", ">64<", ">4,096<"] {
            assert_eq!(svg.matches(label).count(), 1, "{label}: {svg}");
        }
        assert!(!svg.contains(">1,000<"), "{svg}");
    }

    #[test]
    fn a_contour_takes_no_colour_and_a_label_no_place_in_the_legend() {
        let line = |name: &str| Series::new(name, vec![(0.0, 0.0), (1.0, 1.0)]);
        let plot = LinePlot::new("t", "x", "y").with(line("equal").contour());
        let svg = plot.with(line("beside").labelled()).with(line("listed")).svg();
        assert!(
            svg.contains("class=\"l\" stroke=\"var(--c0)\"") && !svg.contains("var(--c2)\""),
            "{svg}"
        );
        assert_eq!(svg.matches("y=\"38\">").count(), 2, "{svg}");
        assert_eq!(svg.matches("beside</text>").count(), 1, "{svg}");
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
