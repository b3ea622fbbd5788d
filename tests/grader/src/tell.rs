//! The reports that a student reads: within 80 columns, in colour if the terminal supports it and `NO_COLOR` is not set.

use std::borrow::Cow;

use console::{Style, StyledObject, style};
use textwrap::{Options, WordSplitter};

/// The width of a report in columns.
pub const WIDTH: usize = 80;

/// `text` in the colour of the state of a check or an exercise.
pub fn coloured<T>(state: &str, text: T) -> StyledObject<T> {
    let style = Style::new();
    let style = match state {
        "right" => style.green(),
        "to do" => style.blue(),
        "not run" => style.yellow(),
        _ => style.red(),
    };
    style.apply_to(text)
}

/// A heading in a line of its own.
pub fn heading(text: &str) -> String {
    format!("{}\n", style(text).bold())
}

/// `text` in lines of at most `width` columns, broken between words; a longer word is broken within.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width).word_splitter(WordSplitter::NoHyphenation);
    let text = text.replace('\n', " ");
    let lines = textwrap::wrap(&text, options).into_iter();
    lines.map(Cow::into_owned).collect()
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
