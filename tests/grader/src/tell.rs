//! The reports that a student reads: within 80 columns, in colour if the terminal supports it.

use std::io::IsTerminal;

use crate::{Cause, Exercise, Outcome};

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

    /// Right.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Wrong.
    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// To do: neither right nor wrong.
    pub fn blue(self, text: &str) -> String {
        self.paint("34", text)
    }

    /// Not run.
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

/// `text` in lines of at most `width` columns, broken between words; a longer word is broken within.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(width) {
            let used = lines.last().map_or(0, |l| l.chars().count());
            if used > 0 && used + 1 + part.len() > width {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(part);
            }
        }
    }
    lines
}

/// A line as it is if it fits in `width` columns, or else wrapped.
pub fn fit(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width && !line.contains('\n') {
        return vec![line.to_owned()];
    }
    wrap(line, width)
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
fn labelled(label: &str, lines: &[String]) -> String {
    let labels = [label].into_iter().chain(std::iter::repeat(""));
    let line = |(line, label): (&String, &str)| format!("    {label:<9} {line}").trim_end().to_owned() + "\n";
    lines.iter().zip(labels).map(line).collect()
}

/// A label and text next to it, wrapped if it is long.
pub(crate) fn paragraph(label: &str, text: &str) -> String {
    labelled(label, &fit(text, WIDTH - 15))
}

/// The report on one check of an answer.
pub(crate) struct CheckReport<'a> {
    pub exercise: &'a Exercise,
    /// The check as a sentence.
    pub check: &'a str,
    /// The sentence of the exercise that requires the property.
    pub asked: &'a str,
    pub outcome: &'a Outcome,
    pub cause: Option<Cause>,
    /// The chapter's file.
    pub chapter: &'a str,
}

impl CheckReport<'_> {
    /// The whole text, about ten lines.
    pub fn text(&self, ink: Ink) -> String {
        let (id, title) = (&self.exercise.id, &self.exercise.title);
        let (word, outcome) = self.outcome();
        let mut out = ink.bold(&format!("{id} {title}")) + "\n";
        for line in wrap(&format!("{word}: {}", self.check), WIDTH - 2) {
            out += &format!("  {}\n", ink.red(&line));
        }
        for (label, text) in [("asked", self.asked)].into_iter().chain(outcome) {
            let mut lines = fit(text, WIDTH - 15);
            if label == "given" && lines.len() > 4 {
                lines.truncate(4);
                lines[3].push_str(" …");
            }
            if !text.is_empty() {
                out += &labelled(label, &lines);
            }
        }
        if let Some(Cause::Likely(cause) | Cause::Perhaps(cause)) = self.cause {
            let likely = matches!(self.cause, Some(Cause::Likely(_)));
            let lines: Vec<String> = wrap(cause, WIDTH - 15).iter().map(|l| ink.yellow(l)).collect();
            out += &labelled(if likely { "likely" } else { "perhaps" }, &lines);
        }
        let read = format!("book/src/{}#{}", self.chapter, self.exercise.anchor());
        out + &paragraph("hint", &format!("cargo course hint {id}")) + &paragraph("read", &read)
    }

    /// The outcome in a word, and what is known of it by labels.
    fn outcome(&self) -> (String, Vec<(&str, &str)>) {
        match self.outcome {
            Outcome::Wrong(wrong) => {
                let mut parts = vec![("given", &*wrong.input), ("compared", &wrong.what)];
                for line in &wrong.lines {
                    let (label, rest) = line.split_at_checked(10).unwrap_or(("", line));
                    parts.push((label.trim_end(), rest));
                }
                ("failed".into(), parts)
            }
            Outcome::Panicked {
                message,
                location,
                input,
            } => {
                let message = message.lines().next().unwrap_or_default();
                let parts = vec![("given", &**input), ("panic", message), ("at", location)];
                ("panicked".into(), parts)
            }
            Outcome::Stuck {
                deadline,
                location,
                input,
            } => {
                let location = location.as_deref().unwrap_or("an unknown line");
                let word = format!("did not end within {} s", deadline.as_secs_f32());
                (word, vec![("given", input), ("at", location)])
            }
            Outcome::NotRun(why) => ("not run".into(), vec![("because", why)]),
            Outcome::Passed | Outcome::ToDo(_) => Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, Values};

    #[test]
    fn prose_is_wrapped_and_code_is_not() {
        let text = "Begin with these\nnumbers:\n\n    let a = 1;\n        let far = a + 1;\n\nthen stop.\n";
        let shown = "Begin with\nthese\nnumbers:\n\n    let a = 1;\n        let far = a + 1;\n\nthen stop.";
        assert_eq!(paragraphs(text, 12).join("\n"), shown);
    }

    #[test]
    fn every_report_stays_within_eighty_columns() {
        let long = "word ".repeat(60) + &"x".repeat(300);
        let expected = Values::tensor(vec![1.23456e-9; 300], &[3, 100], "f32");
        let got = Values::tensor(vec![-9.8e20; 300], &[3, 100], "f32");
        let Err(Finding::Wrong(wrong)) = crate::given(&long).close(&long, got, expected) else {
            panic!("they differ");
        };
        let (message, location, input) = (long.clone(), long.clone(), long.clone());
        let panicked = Outcome::Panicked {
            message,
            location,
            input,
        };
        for outcome in [Outcome::Wrong(wrong), panicked, Outcome::NotRun(long.clone())] {
            let report = CheckReport {
                exercise: &Exercise::default(),
                check: &long,
                asked: &long,
                outcome: &outcome,
                cause: Some(Cause::Perhaps(long.clone().leak())),
                chapter: "01.md",
            };
            let text = report.text(Ink { colour: false });
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(!text.contains('\x1b'));
        }
    }
}
