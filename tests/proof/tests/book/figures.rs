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

/// The width of an SVG's view box, and its smallest font (`font:15px …`, `font-size:13px`, `font-size="13"`), in its own unit.
fn width_and_font(svg: &str) -> (f64, f64) {
    let view = between(svg, "viewBox=\"", "\"").next().unwrap();
    let width = view.split(' ').nth(2).and_then(number).unwrap();
    let sizes = ["font:", "font-size:", "font-size=\""]
        .into_iter()
        .flat_map(|start| svg.split(start).skip(1));
    (width, sizes.filter_map(number).fold(f64::INFINITY, f64::min))
}

#[test]
fn text_of_figures_has_11_pixels_on_a_phone() {
    assert_eq!(
        width_and_font("<svg viewBox=\"8 0 464 337\"><style>m{font-size:13.5px;font:15px x}"),
        (464.0, 13.5)
    );
    let mut seen = 0;
    for (page, text) in chapters() {
        for figure in text.split("<figure").skip(1) {
            let place = if figure.starts_with(" class=\"wide\"") {
                WIDE
            } else {
                PHONE
            };
            let figure = figure.split("</figure>").next().unwrap();
            let files = between(figure, "](", ")").chain(between(figure, "src=\"", "\""));
            for file in files.filter(|file| file.ends_with(".svg")) {
                seen += 1;
                let (width, font) = width_and_font(&fs::read_to_string(page.with_file_name(file)).unwrap());
                let pixels = font * (place / width).min(1.0);
                assert!(
                    pixels >= READABLE,
                    "{}: {file}: {pixels:.1} pixels on a phone",
                    page.display()
                );
            }
        }
    }
    assert!(seen > 20, "only {seen} figures were found");
}
