//! Builds the program of a lesson's checks, or returns the errors of the compiler.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use anyhow::{Result, bail};
use grader::paths;
use serde::Deserialize;

use super::run::{End, State, run};

/// Where the first error is.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// In this function of the exercises.
    Function(String),
    /// In the exercises, outside of their functions.
    Exercises,
    /// In a file that the student does not write, which means that a signature was changed.
    Elsewhere,
}

/// A compiler message of `--message-format=json`.
#[derive(Deserialize)]
struct Line {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    message: String,
    rendered: Option<String>,
    spans: Vec<Spot>,
}

#[derive(Deserialize)]
struct Spot {
    file_name: String,
    line_start: usize,
    is_primary: bool,
}

/// Builds the program of the lesson's checks, or returns why it cannot be built.
pub fn build(root: &Path, lesson: &str, state: &Mutex<State>) -> Result<Result<PathBuf, End>> {
    let mut cargo = crate::cargo::command();
    cargo.args([
        "test",
        "--no-run",
        "--bin",
        &format!("grade{lesson}"),
        "-p",
        &format!("lesson{lesson}"),
    ]);
    cargo
        .args(["--message-format=json-diagnostic-rendered-ansi"])
        .current_dir(root);
    let ended = run(cargo, state)?;
    let program = ended.out.lines().find_map(crate::cargo::built);
    let messages = ended
        .out
        .lines()
        .filter_map(|l| serde_json::from_str::<Line>(l).ok());
    let mut errors: Vec<Message> = messages
        .map(|l| l.message)
        .filter(|m| m.level == "error")
        .collect();
    // The last message only counts the errors.
    errors.retain(|e| !e.message.starts_with("aborting due to"));
    if let Some(first) = errors.first() {
        let own = paths::exercises(lesson);
        return Ok(Err(End::Broken {
            first: readable(first.rendered.as_deref().unwrap_or_default(), root),
            others: errors[1..].iter().map(headline).collect(),
            location: location(
                first,
                &own,
                &fs::read_to_string(root.join(&own)).unwrap_or_default(),
            ),
        }));
    }
    match program {
        Some(program) if ended.success => Ok(Ok(program)),
        _ => bail!(
            "cargo did not build the checks of lesson {lesson}:\n{}",
            ended.error.trim()
        ),
    }
}

/// Where the error is, given the text of the exercises in the file `own`.
fn location(error: &Message, own: &str, text: &str) -> Location {
    let primary: Vec<&Spot> = error.spans.iter().filter(|s| s.is_primary).collect();
    if primary.iter().any(|s| s.file_name.replace('\\', "/") != own) {
        return Location::Elsewhere;
    }
    let above = text.lines().take(primary.first().map_or(0, |s| s.line_start));
    let function = above.filter_map(|l| l.strip_prefix("pub fn ")).last();
    let name = function.and_then(|f| f.split(['(', '<']).next());
    name.map_or(Location::Exercises, |name| Location::Function(name.to_owned()))
}

/// Shortens paths to start at the root, and removes notes about files of the compiler.
fn readable(rendered: &str, root: &Path) -> String {
    let here = format!("{}{}", root.display(), std::path::MAIN_SEPARATOR);
    let own = [
        "the full name for the type has been written to",
        "consider using `--verbose`",
    ];
    let lines = rendered.lines().filter(|l| !own.iter().any(|o| l.contains(o)));
    let lines: Vec<String> = lines.map(|l| l.replace(&here, "")).collect();
    lines.join("\n")
}

/// `line 12: mismatched types`.
fn headline(message: &Message) -> String {
    let rendered = message.rendered.as_deref().unwrap_or_default();
    let arrow = rendered.lines().find_map(|l| l.split("--> ").nth(1));
    let line = arrow.and_then(|a| a.split(':').nth(1)).unwrap_or("?");
    format!(
        "line {line}: {}",
        message.message.lines().next().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_located_in_its_function() {
        let text = "use a;\n\npub fn one(x: f64) -> f64 {\n    x\n}\n\npub fn two<T>() {\n    y\n}\n";
        let at = |file: &str, line_start| {
            let error = Message {
                level: "error".into(),
                message: String::new(),
                rendered: None,
                spans: vec![Spot {
                    file_name: file.into(),
                    line_start,
                    is_primary: true,
                }],
            };
            location(&error, "exercises/lesson01/src/lib.rs", text)
        };
        assert_eq!(
            at("exercises/lesson01/src/lib.rs", 4),
            Location::Function("one".into())
        );
        assert_eq!(
            at("exercises\\lesson01\\src\\lib.rs", 8),
            Location::Function("two".into())
        );
        assert_eq!(at("exercises/lesson01/src/lib.rs", 1), Location::Exercises);
        assert_eq!(at("lessons/lesson01/src/lib.rs", 4), Location::Elsewhere);
    }

    #[test]
    fn a_compilers_message_names_paths_from_the_root() {
        let said = "error: x\n --> /home/me/canopy/exercises/lesson01/src/lib.rs:1:2\n \
                    = note: the full name for the type has been written to '/home/me/canopy/target/long.txt'\n";
        let root = Path::new("/home").join("me").join("canopy");
        assert_eq!(
            readable(said, &root),
            "error: x\n --> exercises/lesson01/src/lib.rs:1:2"
        );
    }
}
