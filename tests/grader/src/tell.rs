//! The reports that a student reads: within 80 columns, in colour if the terminal supports it.

use std::io::IsTerminal;

use crate::{Cause, Outcome};

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

/// Paragraphs of Markdown in lines of at most `width` columns: prose is wrapped, code (indented by four spaces) is not.
pub fn paragraphs(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut prose) = (Vec::new(), String::new());
    let flush = |prose: &mut String, lines: &mut Vec<String>| {
        if !prose.is_empty() {
            lines.extend(wrap(&std::mem::take(prose), width));
        }
    };
    for line in text.trim_end().lines() {
        let code = line.starts_with("    ");
        if code || line.trim().is_empty() {
            flush(&mut prose, &mut lines);
            lines.push(line.trim_end().to_owned());
        } else {
            prose.push_str(line);
            prose.push(' ');
        }
    }
    flush(&mut prose, &mut lines);
    lines
}

/// A label in a column of its own, and lines next to it.
pub fn labelled(label: &str, lines: &[String]) -> String {
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let label = if i == 0 { label } else { "" };
        out.push_str(format!("    {label:<9} {line}").trim_end());
        out.push('\n');
    }
    out
}

/// A label and wrapped text next to it.
pub fn paragraph(label: &str, text: &str) -> String {
    labelled(label, &wrap(text, WIDTH - 15))
}

/// The report on one check of an answer.
pub struct CheckReport<'a> {
    /// The exercise's name and title.
    pub exercise: (&'a str, &'a str),
    /// The check as a sentence.
    pub check: &'a str,
    /// The sentence of the exercise that requires the property.
    pub asked: &'a str,
    /// The outcome.
    pub outcome: &'a Outcome,
    /// The likely cause.
    pub cause: Option<Cause>,
    /// The chapter's file and the exercise's anchor in it.
    pub chapter: (&'a str, &'a str),
}

impl CheckReport<'_> {
    /// The whole text, about ten lines.
    pub fn text(&self, ink: Ink) -> String {
        let (id, title) = self.exercise;
        let mut out = format!("{}\n", ink.bold(&format!("{id} {title}")));
        let word = match self.outcome {
            Outcome::Stuck { .. } => "did not end: ",
            Outcome::Panicked { .. } => "panicked: ",
            Outcome::NotRun(_) => "not run: ",
            _ => "failed: ",
        };
        let head = wrap(&format!("{word}{}", self.check), WIDTH - 2);
        for line in head {
            out.push_str(&format!("  {}\n", ink.red(&line)));
        }
        if !self.asked.is_empty() {
            out.push_str(&paragraph("asked", self.asked));
        }
        self.outcome_text(&mut out);
        if let Some(cause) = self.cause {
            let (label, text) = match cause {
                Cause::Likely(text) => ("likely", text),
                Cause::Perhaps(text) => ("perhaps", text),
            };
            let lines: Vec<String> = wrap(text, WIDTH - 15).iter().map(|l| ink.yellow(l)).collect();
            out.push_str(&labelled(label, &lines));
        }
        out.push_str(&paragraph("hint", &format!("cargo course hint {id}")));
        let (file, anchor) = self.chapter;
        out.push_str(&paragraph("read", &format!("book/src/{file}#{anchor}")));
        out
    }

    fn outcome_text(&self, out: &mut String) {
        match self.outcome {
            Outcome::Wrong(wrong) => {
                out.push_str(&given(&wrong.input));
                out.push_str(&paragraph("compared", &wrong.what));
                for line in &wrong.lines {
                    let (label, rest) = line.split_at_checked(10).unwrap_or(("", line));
                    out.push_str(&labelled(label.trim_end(), &fit(rest)));
                }
            }
            Outcome::Panicked {
                message,
                location,
                input,
            } => {
                out.push_str(&given(input));
                out.push_str(&paragraph("panic", message.lines().next().unwrap_or_default()));
                out.push_str(&paragraph("at", location));
            }
            Outcome::Stuck {
                deadline,
                location,
                input,
            } => {
                out.push_str(&given(input));
                out.push_str(&paragraph("waited", &format!("{} s", deadline.as_secs_f32())));
                let location = location.as_deref().unwrap_or("an unknown line");
                out.push_str(&paragraph("at", location));
            }
            Outcome::NotRun(why) => out.push_str(&paragraph("because", why)),
            Outcome::Passed | Outcome::ToDo(_) => {}
        }
    }
}

fn given(input: &str) -> String {
    if input.is_empty() {
        return String::new();
    }
    let mut lines = wrap(input, WIDTH - 15);
    if lines.len() > 4 {
        lines.truncate(4);
        lines[3].push_str(" …");
    }
    labelled("given", &lines)
}

/// Keeps a line with its columns, or wraps it if it is too long.
fn fit(line: &str) -> Vec<String> {
    if line.chars().count() <= WIDTH - 15 {
        vec![line.to_owned()]
    } else {
        wrap(line, WIDTH - 15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, Values};

    #[test]
    fn prose_is_wrapped_and_code_is_not() {
        let text = "Begin with these\nnumbers:\n\n    let a = 1;\n        let far = a + 1;\n\nthen stop.\n";
        let lines = paragraphs(text, 12);
        let code = ["", "    let a = 1;", "        let far = a + 1;", ""];
        assert_eq!(lines[..3], ["Begin with", "these", "numbers:"]);
        assert_eq!(
            (&lines[3..7], &lines[7..]),
            (&code.map(String::from)[..], &["then stop.".into()][..])
        );
    }

    #[test]
    fn every_report_stays_within_eighty_columns() {
        let long = "word ".repeat(60) + &"x".repeat(300);
        let expected = Values::tensor(vec![1.23456e-9; 300], &[3, 100], "f32");
        let got = Values::tensor(vec![-9.8e20; 300], &[3, 100], "f32");
        let Err(Finding::Wrong(wrong)) = crate::given(&long).close(&long, got, expected) else {
            panic!("they differ");
        };
        let outcomes = [
            Outcome::Wrong(wrong),
            Outcome::Panicked {
                message: long.clone(),
                location: long.clone(),
                input: long.clone(),
            },
            Outcome::Stuck {
                deadline: crate::DEADLINE,
                location: Some(long.clone()),
                input: long.clone(),
            },
            Outcome::NotRun(long.clone()),
        ];
        for outcome in &outcomes {
            let report = CheckReport {
                exercise: ("1.2", "A title"),
                check: &long,
                asked: &long,
                outcome,
                cause: Some(Cause::Perhaps(long.clone().leak())),
                chapter: ("01.md", "exercise-1-2"),
            };
            let text = report.text(Ink { colour: false });
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
            assert!(!text.contains('\x1b'));
        }
    }
}
