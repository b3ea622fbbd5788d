//! The text of the figures can be read on a phone.

use std::fs;

use crate::{between, chapters};

/// What a page of 360 pixels leaves for a figure, and what one of the class `wide` has, which scrolls (`book.css`).
const PHONE: f64 = 320.0;
const WIDE: f64 = 720.0;
/// The smallest text that can be read, in pixels.
const READABLE: f64 = 11.0;

/// The number at the start of a text.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// The width of an SVG's view box, and its smallest font, both in its own unit.
fn width_and_font(svg: &str) -> (f64, f64) {
    let view = svg.split_once("viewBox=\"").unwrap().1.split_once('"').unwrap().0;
    let width = view.split(' ').nth(2).and_then(number).unwrap();
    // `font:15px …`, `font-size:13px` and `font-size="13"`.
    let sizes = ["font:", "font-size:", "font-size=\""];
    let sizes = sizes.iter().flat_map(|start| svg.split(start).skip(1));
    (width, sizes.filter_map(number).fold(f64::INFINITY, f64::min))
}

#[test]
fn finds_the_width_and_the_smallest_font() {
    let svg =
        "<svg viewBox=\"8 0 464 337\"><style>svg{font:15px x}.m{font-size:13.5px;font-weight:1}</style>";
    assert_eq!(width_and_font(svg), (464.0, 13.5));
    assert_eq!(
        width_and_font("<svg viewBox=\"0 0 9 9\" font-size=\"12\">"),
        (9.0, 12.0)
    );
}

#[test]
fn text_of_figures_has_11_pixels_on_a_phone() {
    let (mut seen, mut small) = (0, Vec::new());
    for (page, text) in chapters() {
        for figure in text.split("<figure").skip(1) {
            let width = if figure.starts_with(" class=\"wide\"") {
                WIDE
            } else {
                PHONE
            };
            let figure = figure.split("</figure>").next().unwrap();
            let files = between(figure, "](", ")").chain(between(figure, "src=\"", "\""));
            for (_, file) in files.filter(|(_, f)| f.ends_with(".svg")) {
                seen += 1;
                let (own, font) =
                    width_and_font(&fs::read_to_string(page.parent().unwrap().join(file)).unwrap());
                let pixels = font * (width / own).min(1.0);
                if !(READABLE..).contains(&pixels) {
                    small.push(format!("{}: {file}: {pixels:.1} px", page.display()));
                }
            }
        }
    }
    assert!(seen > 30, "only {seen} figures were found");
    assert!(small.is_empty(), "too small on a phone:\n{}", small.join("\n"));
}
