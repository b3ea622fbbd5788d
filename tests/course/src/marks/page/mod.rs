//! Pages: one per student, one of the class. Each is a single file that loads nothing from a network.

mod class;
mod student;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::clean::markup;

pub use class::class;
pub use student::student;

const STYLE: &str = include_str!("page.css");

/// The whole document. Its policy forbids every request and every script except ours, given by its digest, so that even
/// markup of a student that was not escaped could do nothing.
fn document(title: &str, body: &str, script: &str) -> String {
    let allowed = match script {
        "" => "'none'".to_owned(),
        script => format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script))),
    };
    let script = match script {
        "" => String::new(),
        script => format!("<script>{script}</script>\n"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; form-action 'none'\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\
         </main>\n{script}</body>\n</html>\n",
        markup(title)
    )
}

/// A state with its colour and its sign, because colour alone is not accessible.
fn badge(word: &str) -> String {
    let class = word.replace(' ', "-");
    let sign = match word {
        "right" => "✓ ",
        "wrong" => "✗ ",
        "not run" => "? ",
        _ => "○ ",
    };
    format!(
        "<span class=\"badge {}\">{sign}{}</span>",
        markup(&class),
        markup(word)
    )
}

/// A duration in at most two units: `3 d 2 h`, `45 min`, `30 s`.
fn span(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let Some(first) = units.iter().position(|(unit, _)| seconds >= *unit) else {
        return "0 s".into();
    };
    let (unit, name) = units[first];
    let mut out = format!("{} {name}", seconds / unit);
    if let Some((small, name)) = units.get(first + 1) {
        let rest = seconds % unit / small;
        if rest > 0 {
            out.push_str(&format!(" {rest} {name}"));
        }
    }
    out
}

/// A time such as `2026-11-20 23:59:00 UTC`.
fn time(seconds: u64) -> String {
    crate::late::rfc3339(seconds)
        .replace('T', " ")
        .replace('Z', " UTC")
}
