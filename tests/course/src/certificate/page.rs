//! The certificate as a page that prints on one sheet of A4, landscape.

use anyhow::Result;

use super::seal::{BEGIN, END, Statement};
use crate::marks::markup;

const STYLE: &str = include_str!("page.css");

/// Returns the page, which contains the signer's public key.
///
/// # Errors
/// Returns an error if the statement cannot be written as JSON.
pub fn html(statement: &Statement, key: &str) -> Result<String> {
    let lessons: Vec<String> = statement
        .lessons
        .iter()
        .map(|l| {
            format!(
                "<li>Lesson {}: {} <span>{} points</span></li>\n",
                markup(&l.lesson),
                markup(&l.title),
                l.points
            )
        })
        .collect();
    let facts = [
        ("course", format!("{} · {}", statement.version, statement.course)),
        ("submission", statement.submission.clone()),
        ("signed by the key", key.to_owned()),
    ];
    let facts: String = facts
        .iter()
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", markup(value)))
        .collect();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n\
         <title>Certificate of {name}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <p class=\"course\">Canopy · Deep Learning with GPU Cores, in Rust</p>\n<h1>Certificate</h1>\n\
         <p class=\"soft\">It is certified that</p>\n<p class=\"name\">{name}</p>\n\
         <p class=\"soft\">has won all {points} points of</p>\n<ul{many}>\n{lessons}</ul>\n<p class=\"date\">{date}</p>\n<dl>\n{facts}</dl>\n\
         <p class=\"soft verify\"><code>cargo course verify certificate.html --public KEY</code> verifies this file.</p>\n\
         </main>\n{BEGIN}{line}{END}\n</body>\n</html>\n",
        name = markup(&statement.name),
        points = statement.lessons.iter().map(|l| l.points).sum::<u32>(),
        // One column of more would not fit on a sheet.
        many = if lessons.len() > 6 { " class=\"many\"" } else { "" },
        lessons = lessons.concat(),
        date = markup(&statement.date),
        // No text can end the script element.
        line = serde_json::to_string(statement)?.replace('<', "\\u003c"),
    ))
}
