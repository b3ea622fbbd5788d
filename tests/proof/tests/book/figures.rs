//! Every picture has a caption, and its text can be read on a phone.

use std::fs;

use crate::{between, pages};

/// What a page of 360 pixels leaves for a figure, and what one of the class `wide` has, which scrolls (`book.css`).
const PHONE: f64 = 320.0;
const WIDE: f64 = 720.0;
/// The smallest text that can be read, in pixels.
const READABLE: f64 = 11.0;

/// The smallest number after one of these texts.
fn smallest(text: &str, before: &[&str]) -> f64 {
    let parts = before.iter().flat_map(|before| text.split(before).skip(1));
    let numbers = parts.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    });
    numbers.fold(f64::INFINITY, f64::min)
}

#[test]
fn pictures_have_a_caption_and_text_of_11_pixels_on_a_phone() {
    let mut seen = 0;
    for page in pages() {
        let is_picture = |line: &&str| line.starts_with("![") || line.starts_with("<img ");
        let pictures = page.text.lines().filter(is_picture).count();
        let captions = page.text.matches("<figcaption>").count();
        assert_eq!(pictures, captions, "{}: pictures, captions", page.name);
        for figure in page.text.split("<figure").skip(1) {
            let is_wide = figure.starts_with(" class=\"wide\"");
            let place = if is_wide { WIDE } else { PHONE };
            let figure = figure.split("</figure>").next().unwrap();
            let files = between(figure, "](", ")").chain(between(figure, "src=\"", "\""));
            for file in files.filter(|file| file.ends_with(".svg")) {
                seen += 1;
                let svg = fs::read_to_string(page.path.with_file_name(file)).unwrap();
                let view = between(&svg, "viewBox=\"", "\"").next().unwrap();
                let width: f64 = view.split(' ').nth(2).unwrap().parse().unwrap();
                let font = smallest(&svg, &["font:", "font-size:", "font-size=\""]);
                let pixels = font * (place / width).min(1.0);
                let fine = pixels >= READABLE && pixels.is_finite();
                assert!(fine, "{}: {file}: {pixels:.1} pixels on a phone", page.name);
            }
        }
        // A question is HTML, in which Markdown is shown as it is written.
        for question in between(&page.text, "<summary>", "</summary>") {
            assert!(!question.contains(['`', '*', '[']), "{}: {question}", page.name);
        }
    }
    assert!(seen > 20, "only {seen} figures were found");
}
