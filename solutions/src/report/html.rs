//! What both pages share: escaping, the format of numbers, the frame around a page's body.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// Escapes text for HTML elements and double-quoted attributes; control characters become `�`.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that change the reading direction would let a name change the text around it.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A share as `87.3 %`; `–` if it is not finite.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1}\u{a0}%", 100.0 * share)
    } else {
        "–".into()
    }
}

/// An interval of shares as `35 to 80 %`.
pub(super) fn whole_percents((low, high): (f64, f64)) -> String {
    format!("{:.0} to {:.0}\u{a0}%", 100.0 * low, 100.0 * high)
}

/// Seconds as `8.4 s`, `1 min 52 s`, `3 h 05 min`.
pub(super) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "–".into();
    }
    if seconds < 59.95 {
        return format!("{seconds:.1}\u{a0}s");
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        format!("{}\u{a0}min {:02}\u{a0}s", whole / 60, whole % 60)
    } else {
        format!("{}\u{a0}h {:02}\u{a0}min", whole / 3600, whole % 3600 / 60)
    }
}

/// A page.
pub(super) struct Page<'a> {
    pub title: &'a str,
    pub css: &'a str,
    /// Markup, already escaped.
    pub body: &'a str,
    /// The page's scripts, in order; no other script may run.
    pub scripts: &'a [&'a str],
    /// A comment in the head: the licence of the scripts.
    pub notice: &'a str,
}

impl Page<'_> {
    /// The whole document.
    ///
    /// Its content security policy allows no request, and no script except these, by their digests: markup in the name of a
    /// tree could do nothing even if it were not escaped.
    pub fn html(&self) -> String {
        let mut allowed = String::new();
        for script in self.scripts {
            let digest = STANDARD.encode(Sha256::digest(script.as_bytes()));
            let _ = write!(allowed, " 'sha256-{digest}'");
        }
        if allowed.is_empty() {
            allowed.push_str(" 'none'");
        }
        let scripts_length: usize = self.scripts.iter().map(|s| s.len() + 20).sum();
        let mut out = String::with_capacity(self.body.len() + self.css.len() + scripts_length + 2048);
        out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        let _ = writeln!(
            out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
             style-src 'unsafe-inline'; script-src{allowed}; base-uri 'none'; form-action 'none'\">"
        );
        let _ = writeln!(
            out,
            "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">",
            escape(self.title)
        );
        if !self.notice.is_empty() {
            let _ = writeln!(out, "<!--\n{}\n-->", self.notice.replace("--", "––").trim());
        }
        let _ = writeln!(
            out,
            "<style>\n{}</style>\n</head>\n<body>\n{}",
            self.css, self.body
        );
        for script in self.scripts {
            let _ = writeln!(out, "<script>{script}</script>");
        }
        out.push_str("</body>\n</html>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_escaped() {
        assert_eq!(
            escape("<script>alert('x')</script> & \"\u{0}\u{202e}"),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn numbers_are_formatted_for_readers() {
        assert_eq!(whole_percents((0.207, 1.0)), "21 to 100\u{a0}%");
        assert_eq!(percent(0.8734), "87.3\u{a0}%");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(duration(8.44), "8.4\u{a0}s");
        assert_eq!(duration(59.97), "1\u{a0}min 00\u{a0}s");
        assert_eq!(duration(3_660.0), "1\u{a0}h 01\u{a0}min");
        assert_eq!(duration(f64::INFINITY), "–");
    }
}
