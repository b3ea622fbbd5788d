//! The reports that a student reads: within 80 columns, in colour if the terminal supports it.

use std::io::IsTerminal;

/// Text with or without colour.
#[derive(Clone, Copy)]
pub struct Ink {
    /// Whether to colour.
    pub colour: bool,
}

/// The width of a report in columns.
pub const WIDTH: usize = 80;

impl Ink {
    /// Colour if standard output is a terminal and `NO_COLOR` is not set.
    pub fn auto() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Self {
            colour: wanted && std::io::stdout().is_terminal(),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// In the colour of the state of a check or an exercise.
    pub fn state(self, state: &str, text: &str) -> String {
        let code = match state {
            "right" => "32",
            "to do" => "34",
            "not run" => "33",
            _ => "31",
        };
        self.paint(code, text)
    }

    /// A warning, or a likely cause.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Less important.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// `text` in lines of at most `width` columns, broken between words; a longer word is broken within. A line that fits stays as
/// it is.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width && !text.contains('\n') {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(width) {
            if !line.is_empty() && line.chars().count() + 1 + part.len() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(part);
        }
    }
    lines.push(line);
    lines
}

/// Paragraphs of Markdown in lines of at most `width` columns: prose is wrapped, code (indented by four spaces) is not.
pub fn paragraphs(text: &str, width: usize) -> Vec<String> {
    let prose = |line: &str| !line.starts_with("    ") && !line.trim().is_empty();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let parts = lines.chunk_by(|a, b| prose(a) && prose(b));
    let shown = |part: &[&str]| match part {
        [line] if !prose(line) => vec![line.trim_end().to_owned()],
        _ => wrap(&part.join(" "), width),
    };
    parts.flat_map(shown).collect()
}

/// A label in a column of its own, and lines next to it.
pub(crate) fn labelled(label: &str, lines: &[String]) -> String {
    let labels = [label].into_iter().chain(std::iter::repeat(""));
    let line = |(line, label): (&String, &str)| format!("    {label:<9} {line}").trim_end().to_owned() + "\n";
    lines.iter().zip(labels).map(line).collect()
}

/// A label and text next to it, wrapped if it is long.
pub(crate) fn paragraph(label: &str, text: &str) -> String {
    labelled(label, &wrap(text, WIDTH - 15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_code_is_not() {
        let text = "Begin with these\nnumbers:\n\n    let a = 1;\n        let far = a + 1;\n\nthen stop.\n";
        let shown = "Begin with\nthese\nnumbers:\n\n    let a = 1;\n        let far = a + 1;\n\nthen stop.";
        assert_eq!(paragraphs(text, 12).join("\n"), shown);
    }
}
