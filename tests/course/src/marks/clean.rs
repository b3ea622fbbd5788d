//! Escapes text of students for terminals, spreadsheets and pages.

/// Maximum characters shown of the report of one check; `grade.json` has all of it.
pub const REPORT: usize = 12_000;

/// Characters that change the reading direction or are invisible, with which a name could imitate another one, and
/// characters that XML forbids.
fn deceptive(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Printable text in lines; all other characters are escaped: `\u{202e}`.
pub fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.replace("\r\n", "\n").chars() {
        if deceptive(c) || (c.is_control() && c != '\n' && c != '\t') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Printable text in one line.
pub fn line(raw: &str) -> String {
    text(raw).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `most` characters, and how many follow.
pub fn short(raw: &str, most: usize) -> String {
    let text = text(raw);
    let Some((at, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let (shown, rest) = text.split_at(at);
    format!("{shown}\n… {} more characters", rest.chars().count())
}

/// One line, cut to `width` columns with `…`.
pub fn cut(raw: &str, width: usize) -> String {
    let line = line(raw);
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A cell that no spreadsheet interprets as a formula.
pub fn cell(raw: &str) -> String {
    let line = line(raw);
    if line.starts_with([
        '=', '+', '-', '@', '|', '%', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]) {
        format!("'{line}")
    } else {
        line
    }
}

/// Escapes one segment of the path of a URL.
pub fn step(raw: &str) -> String {
    let escaped = raw.bytes().map(|b| match b {
        b'-' | b'_' | b'.' | b'~' => char::from(b).to_string(),
        b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    });
    escaped.collect()
}

/// A number with at most two decimals.
pub fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A number of points: `7`, `6.3`, `6.75`.
pub fn points(number: f64) -> String {
    rounded(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_escaped_and_long_text_is_cut() {
        assert_eq!(text("a\u{0}\r\nb\u{202e}"), "a\\u{0}\nb\\u{202e}");
        assert_eq!(line(" a\n\tb \r c"), "a b \\u{d} c");
        for formula in ["=cmd()", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "|x", "\u{ff1d}1"] {
            assert!(cell(formula).starts_with('\''), "{formula:?}: {}", cell(formula));
        }
        assert_eq!(cell("anna"), "anna");
        assert_eq!(step("../ä b\"#?"), "..%2F%C3%A4%20b%22%23%3F");
        assert!(short(&"é".repeat(1_000_000), 10).ends_with("\n… 999990 more characters"));
        assert_eq!([cut("abcdef", 4), cut("abcd", 4)], ["abc…", "abcd"]);
        let all = [7.0, 6.3, 6.75, 0.0, 100.0].map(points);
        assert_eq!(all, ["7", "6.3", "6.75", "0", "100"]);
    }
}
