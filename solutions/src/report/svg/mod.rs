//! Plots as SVG, for pages and for files: line plots, timelines and parallel coordinates.
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
mod lines;
mod parallel;
mod picture;
mod rects;

pub use axis::{superscript, tick_label};
pub use parallel::{Coordinate, ParallelPlot};
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
#[derive(Clone, Debug, Default, PartialEq)]
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
            size: (460.0, 300.0),
            ..Self::default()
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
}
