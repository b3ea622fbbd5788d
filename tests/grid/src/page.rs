//! The picture of an access as an HTML page.

use crate::{
    picture::{Drawing, LEGEND},
    trace::{Place, Trace},
};

const STYLE: &str = "
:root { color-scheme: light dark; --line: #bbb }
@media (prefers-color-scheme: dark) { :root { --line: #555 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em }
h1 { font-size: 1.3em }
figure { margin: 0; overflow-x: auto }
text { font: 11px ui-monospace, monospace; fill: currentColor; text-anchor: middle }
rect { width: 24px; height: 24px; fill: none; stroke: var(--line) }
.name text { text-anchor: end } .name rect, .head rect, .gap rect { stroke: none } .none text { fill: none }
.own rect { fill: #8884 }
.r rect { fill: #4a90d9 } .w rect { fill: #e0a030 } .b rect { fill: #8e5cb5 } .X rect { fill: #d02020; stroke: currentColor }
.end rect { x: 10px; width: 4px; fill: #d02020 } .end text { fill: none }
";
const SIZE: usize = 24;
/// Columns that the threads' names take.
const NAMES: usize = 6;

impl Trace {
    /// The picture as an HTML page with a drawing (SVG; no scripts, nothing is loaded). It also numbers the sectors of a
    /// buffer, or the banks of shared memory, and marks that of the access `at`.
    pub fn page(&self, title: &str, at: usize) -> String {
        let title = escape(title);
        let (caption, svg) = match self.drawing(at, 32, 64) {
            Some(drawing) => (escape(&drawing.caption), self.svg(at, &drawing)),
            None => ("There is no picture of this access.".into(), String::new()),
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <h1>{title}</h1>\n<p>{caption}</p>\n<figure>\n{svg}</figure>\n<p>{LEGEND}</p>\n</html>\n"
        )
    }

    fn svg(&self, at: usize, drawing: &Drawing) -> String {
        let access = &self.accesses[at];
        let (what, bytes, most) = match access.memory {
            Place::Buffer(_) => ("sector", 32, i64::MAX),
            Place::Shared(_) => ("bank", 4, 32),
        };
        let group = |element: i64| (access.start() + element * drawing.unit).div_euclid(bytes) % most;
        let own = group(access.offset.div_euclid(drawing.unit));
        let (columns, rows) = (NAMES + drawing.columns.len(), 2 + drawing.rows.len());
        let mut svg = format!(
            "<svg width=\"{}\" height=\"{}\">\n",
            SIZE * columns + 1,
            SIZE * rows + 1
        );
        svg += &(cell("name", NAMES - 1, 0, "element") + &cell("name", NAMES - 1, 1, what));
        for (&(glyph, element), i) in drawing.columns.iter().zip(NAMES..) {
            if glyph == '·' {
                let class = if group(element) == own { "head own" } else { "head" };
                svg += &cell("head", i, 0, &element.to_string());
                svg += &cell(class, i, 1, &group(element).to_string());
            }
        }
        for ((name, marks, _), j) in drawing.rows.iter().zip(2..) {
            svg += &cell("name", NAMES - 1, j, name);
            for (mark, i) in marks.chars().zip(NAMES..) {
                let text = mark.to_string();
                let class = match mark {
                    '·' => "none",
                    '…' => "gap",
                    '|' => "end",
                    _ => &text,
                };
                svg += &cell(class, i, j, &text);
            }
        }
        svg + "</svg>\n"
    }
}

/// A square with a text.
fn cell(class: &str, i: usize, j: usize, text: &str) -> String {
    let (x, y) = (SIZE * i, SIZE * j);
    format!(
        "<g class=\"{class}\" transform=\"translate({x} {y})\"><rect/><text x=\"12\" y=\"16\">{text}</text></g>\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
