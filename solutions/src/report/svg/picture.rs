//! A picture while it is drawn: the few elements that plots consist of, their x axis and their legend.

use std::fmt::{Display, Write};

use minijinja::HtmlEscape;

use super::axis::Axis;

/// Width of a letter of 13 pixels in DejaVu Sans, the widest of the usual fonts, in pixels.
const LETTER: f64 = 8.0;
/// Height of a row of the legend, pixels.
const ROW: f64 = 21.0;

/// The width of a text, pixels.
pub(super) fn width_of(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// An entry of a legend.
pub(super) struct Entry<'a> {
    /// The attributes of the sample.
    pub pen: String,
    /// The sample: a path from the left end of the entry.
    pub sample: &'static str,
    /// From there to the name, pixels.
    pub indent: f64,
    pub name: &'a str,
}

/// The elements of a picture of this width so far.
pub(super) struct Picture {
    elements: String,
    width: f64,
}

impl Picture {
    pub fn new(width: f64) -> Self {
        Self {
            elements: String::new(),
            width,
        }
    }

    /// Adds rules of CSS to those of all pictures.
    pub fn style(&mut self, rules: &str) {
        let _ = write!(self.elements, "<style>{rules}</style>");
    }

    /// A path with these attributes.
    pub fn path(&mut self, attributes: impl Display, path: impl Display) {
        let _ = write!(self.elements, "<path {attributes} d=\"{path}\"/>");
    }

    /// A text that starts, ends or has its middle, as `anchor` says, at a point of its base line. Its class may be empty.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
        let _ = write!(self.elements, "<text{class} {place}>{}</text>", HtmlEscape(text));
    }

    /// A `circle` or `rect` of one of the colours, with a tooltip.
    pub fn shape(&mut self, shape: &str, attributes: impl Display, colour: usize, hover: &str) {
        let hover = HtmlEscape(hover);
        let _ = write!(
            self.elements,
            "<{shape} {attributes} fill=\"var(--c{colour})\"><title>{hover}</title></{shape}>"
        );
    }

    /// An x axis with these ticks, from `left` to `right` at the height `bottom`.
    pub fn x_axis(
        &mut self,
        axis: &Axis,
        ticks: &[(f64, String)],
        (left, right, bottom): (f64, f64, f64),
        label: &str,
    ) {
        self.path("class=\"a\"", format!("M{left:.1} {bottom:.1}H{right:.1}"));
        for (t, label) in ticks {
            let x = left + axis.share(*t) * (right - left);
            self.path("class=\"a\"", format!("M{x:.1} {bottom:.1}v5"));
            // A long label at the right end stays inside the picture.
            let inside = x.min(self.width - width_of(label) / 2.0);
            self.text("", (inside, bottom + 19.0), "middle", label);
        }
        self.text("", ((left + right) / 2.0, bottom + 38.0), "middle", label);
    }

    /// A legend below the title, in as many rows as it needs. Returns its height.
    pub fn legend(&mut self, entries: &[Entry]) -> f64 {
        let (mut x, mut y) = (2.0, 34.0);
        for entry in entries {
            let wide = entry.indent + 14.0 + width_of(entry.name);
            if x > 2.0 && x + wide > self.width {
                (x, y) = (2.0, y + ROW);
            }
            self.path(&entry.pen, format!("M{x:.0} {y:.0}{}", entry.sample));
            self.text("", (x + entry.indent, y + 4.0), "start", entry.name);
            x += wide;
        }
        if entries.is_empty() { 0.0 } else { y - 34.0 + ROW }
    }

    /// The picture: an `<svg>` element for a page, or a whole file. The description is for screen readers.
    pub fn end(self, height: f64, title: &str, description: &str) -> String {
        let Self { elements, width } = self;
        let (title, description) = (HtmlEscape(title), HtmlEscape(description));
        let style = include_str!("picture.css");
        format!(
            "<svg class=\"cp\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{description}\"><style>{style}</style>\
             <text class=\"t\" x=\"2\" y=\"16\">{title}</text>{elements}</svg>"
        )
    }
}
