//! The certificate as a PDF: one A4 page on its side, in the fonts that every reader has.

use anyhow::Result;
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::{
    latin::{glyph, width},
    seal::Sealed,
    statement::Statement,
};

/// A4, in points.
const PAGE: (f32, f32) = (842.0, 595.0);
const GREEN: [f32; 3] = [0.114, 0.42, 0.271];
const INK: [f32; 3] = [0.11, 0.141, 0.125];
const SOFT: [f32; 3] = [0.333, 0.376, 0.353];

/// A font's name in the page, and whether it is bold.
const PLAIN: (Name, bool) = (Name(b"F1"), false);
const BOLD: (Name, bool) = (Name(b"F2"), true);

/// The bytes, or the letters that the fonts do not have.
///
/// # Errors
/// The statement cannot be written.
pub fn pdf(sealed: &Sealed, statement: &Statement) -> Result<Result<Vec<u8>, String>> {
    let glyphs = match Glyphs::of(&sealed.statement) {
        Ok(glyphs) => glyphs,
        Err(letters) => return Ok(Err(letters)),
    };
    let line = sealed.line()?;
    let mut next = Ref::new(1);
    let [catalog, pages, page, content, plain, bold, file, spec, info] = [(); 9].map(|()| next.bump());
    let mut pdf = Pdf::new();
    pdf.set_file_id((sealed.digest[..32].into(), sealed.digest[..32].into()));
    let mut root = pdf.catalog(catalog);
    root.pages(pages).lang(TextStr("en"));
    root.names()
        .embedded_files()
        .names()
        .insert(Str(b"certificate.json"), spec);
    root.finish();
    pdf.document_info(info)
        .title(TextStr(&format!("Certificate of {}", statement.name)));
    pdf.pages(pages).kids([page]).count(1);
    let mut sheet = pdf.page(page);
    sheet
        .media_box(Rect::new(0.0, 0.0, PAGE.0, PAGE.1))
        .parent(pages)
        .contents(content);
    sheet.resources().fonts().pair(PLAIN.0, plain).pair(BOLD.0, bold);
    sheet.finish();
    for (id, name) in [(plain, &b"Helvetica"[..]), (bold, b"Helvetica-Bold")] {
        let mut font = pdf.type1_font(id);
        font.base_font(Name(name));
        let mut encoding = font.encoding_custom();
        encoding.base_encoding(Name(b"WinAnsiEncoding"));
        let names = glyphs.names.iter().map(|n| Name(n.as_bytes()));
        encoding.differences().consecutive(FIRST, names);
    }
    pdf.stream(content, &drawn(sealed, statement, &glyphs));
    pdf.embedded_file(file, line.as_bytes())
        .subtype(Name(b"application/json"));
    pdf.file_spec(spec)
        .path(Str(b"certificate.json"))
        .unic_file(TextStr("certificate.json"))
        .embedded_file_with_unicode(file);
    Ok(Ok(pdf.finish()))
}

/// The code of the first letter beyond ASCII.
const FIRST: u8 = 128;

/// The letters of a document beyond ASCII, each with a code of one byte.
struct Glyphs {
    letters: Vec<char>,
    names: Vec<String>,
}

impl Glyphs {
    /// Of all that is shown, or the letters that are not in the fonts.
    fn of(text: &str) -> Result<Self, String> {
        let mut letters: Vec<char> = text.chars().chain(['·', '–']).filter(|c| !c.is_ascii()).collect();
        letters.sort_unstable();
        letters.dedup();
        let without: Vec<String> = letters
            .iter()
            .filter(|c| glyph(**c).is_none())
            .map(|c| format!("“{c}”"))
            .collect();
        if !without.is_empty() {
            return Err(without.join(", "));
        }
        if letters.len() > usize::from(u8::MAX - FIRST) {
            return Err("so many different letters".into());
        }
        let names = letters
            .iter()
            .filter_map(|c| glyph(*c))
            .map(|(name, _)| name)
            .collect();
        Ok(Self { letters, names })
    }

    fn bytes(&self, text: &str) -> Vec<u8> {
        let code = |c: char| match self.letters.binary_search(&c) {
            Ok(at) => FIRST + at as u8,
            Err(_) if c.is_ascii() => c as u8,
            Err(_) => b'?',
        };
        text.chars().map(code).collect()
    }
}

/// Writes lines in the middle of the page, from above.
struct Pen<'a> {
    content: Content,
    glyphs: &'a Glyphs,
    y: f32,
}

impl Pen<'_> {
    /// One line, smaller where it would not fit.
    fn line(&mut self, text: &str, font: (Name, bool), size: f32, colour: [f32; 3], down: f32) {
        let room = PAGE.0 - 140.0;
        let size = size.min(room / width(text, font.1).max(0.001));
        let x = (PAGE.0 - width(text, font.1) * size) / 2.0;
        self.y -= down;
        let [r, g, b] = colour;
        self.content
            .begin_text()
            .set_fill_rgb(r, g, b)
            .set_font(font.0, size)
            .next_line(x, self.y)
            .show(Str(&self.glyphs.bytes(text)))
            .end_text();
    }
}

fn drawn(sealed: &Sealed, statement: &Statement, glyphs: &Glyphs) -> Vec<u8> {
    let mut content = Content::new();
    let [r, g, b] = GREEN;
    content.set_stroke_rgb(r, g, b).set_line_width(3.0);
    content.rect(28.0, 28.0, PAGE.0 - 56.0, PAGE.1 - 56.0).stroke();
    content.set_line_width(0.75);
    content.rect(36.0, 36.0, PAGE.0 - 72.0, PAGE.1 - 72.0).stroke();
    let mut pen = Pen {
        content,
        glyphs,
        y: PAGE.1 - 36.0,
    };
    pen.line(
        "CANOPY · DEEP LEARNING WITH GPU CORES, IN RUST",
        PLAIN,
        11.0,
        SOFT,
        52.0,
    );
    pen.line("Certificate", BOLD, 38.0, GREEN, 52.0);
    pen.line("It is certified that", PLAIN, 13.0, SOFT, 44.0);
    pen.line(&statement.name, BOLD, 34.0, INK, 46.0);
    pen.line(
        &format!("has won all {} points of", statement.points()),
        PLAIN,
        13.0,
        SOFT,
        34.0,
    );
    pen.y -= 6.0;
    // As many lines as the page has room for, the more lessons the lower.
    let down = (132.0 / statement.lessons.len() as f32).min(22.0);
    for l in &statement.lessons {
        let text = format!("Lesson {}: {} ({} points)", l.lesson, l.title, l.points);
        pen.line(&text, PLAIN, (down * 0.68).min(15.0), INK, down);
    }
    pen.y = 150.0;
    pen.line(&statement.date, BOLD, 13.0, INK, 0.0);
    for text in [
        format!("course {} · {}", statement.version, statement.course),
        format!("submission · {}", statement.submission),
        format!("digest of this statement · {}", sealed.digest),
        format!("signed by the key · {}", sealed.key),
    ] {
        pen.line(
            &text,
            PLAIN,
            8.5,
            SOFT,
            if text.starts_with("course") { 22.0 } else { 13.0 },
        );
    }
    pen.line(
        "cargo course verify certificate.pdf --public KEY says whether this file is as it was signed.",
        PLAIN,
        8.5,
        SOFT,
        20.0,
    );
    pen.content.finish().into_vec()
}
