//! The commands of `canopy` and `cargo course` in the book exist, with their options and their values.

use std::{collections::BTreeSet, env, path::Path, process::Command};

use proof::course;

use crate::{blocks, chapters};

/// How a command of the book begins, and its program. A command of a lesson (`cargo run -p lesson01`) is not one.
const STARTS: [(&str, &str); 6] = [
    ("cargo course ", "course"),
    ("cargo run -- ", "canopy"),
    ("cargo run -q -- ", "canopy"),
    ("cargo run --features cuda -- ", "canopy"),
    ("canopy ", "canopy"),
    ("target/debug/canopy ", "canopy"),
];

/// The lines of code of a page: those of its blocks, with continued lines joined, and what is between backticks in the text.
fn code(text: &str) -> Vec<String> {
    let block = |(_, block): (&str, String)| {
        block
            .replace("\\\n", " ")
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    // Blocks have three backticks, which leave the count of single ones even.
    let prose = text.replace('\n', " ");
    let spans = prose.split('`').skip(1).step_by(2).map(str::to_owned);
    blocks(text).into_iter().flat_map(block).chain(spans).collect()
}

/// The program and the arguments of a line of code; nothing for `canopy` as a word of a table or a message.
fn command(line: &str) -> Option<(&'static str, Vec<String>)> {
    let line = line.trim_start().trim_start_matches("$ ");
    let (start, program) = STARTS.iter().find(|(start, _)| line.starts_with(start))?;
    // A shell's operators, and what the book leaves out.
    let ends = |word: &&str| !["|", ">", "&&", "&", ";", "…", "2>"].contains(word);
    let words = line[start.len()..].split_whitespace().take_while(ends);
    let words: Vec<_> = words.map(|word| word.trim_matches('"').to_owned()).collect();
    // A setting of a file is not a command.
    (words.first().map(String::as_str) != Some("=")).then_some((program, words))
}

#[test]
fn the_commands_of_a_page_are_found() {
    let page = "Use `canopy plan\n--search 512` | `canopy` | `canopy = 1` |\n```sh\n$ canopy train \\\n  --epochs 3 > log\n```\n";
    let found: Vec<_> = code(page).iter().filter_map(|line| command(line)).collect();
    let args = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            ("canopy", args("train --epochs 3")),
            ("canopy", args("plan --search 512"))
        ]
    );
}

/// Why `program` rejects the arguments before `--`. With `--help` behind them it tests them, and runs nothing. A text may
/// name an option without its value.
fn rejection(program: &Path, arguments: &[String]) -> Option<String> {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    let out = Command::new(program).args(own).arg("--help").output().unwrap();
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    let is_option = arguments.last().is_some_and(|last| last.starts_with("--"));
    let named = is_option && why.contains("but none was supplied");
    (!out.status.success() && !named).then_some(why)
}

#[test]
#[ignore = "requires `cargo build`, and builds `cargo course`"]
fn the_programs_have_the_commands_of_the_book() {
    let mut all = BTreeSet::new();
    for (page, text) in chapters() {
        let page = page.file_name().unwrap().to_string_lossy().into_owned();
        all.extend(
            code(&text)
                .iter()
                .filter_map(|line| Some((page.clone(), command(line)?))),
        );
    }
    assert!(all.len() > 100, "only {} commands were found", all.len());
    // Where `cargo build` puts it. Building it here, in the environment of a test, would run build scripts again.
    let canopy = env::current_exe()
        .unwrap()
        .ancestors()
        .nth(2)
        .unwrap()
        .join("canopy");
    let canopy = canopy.with_extension(env::consts::EXE_EXTENSION);
    assert!(
        canopy.is_file(),
        "{} does not exist: run `cargo build`",
        canopy.display()
    );
    let course = course();
    let wrong = all.iter().filter_map(|(page, (name, arguments))| {
        let program = if *name == "course" { &course } else { &canopy };
        let why = rejection(program, arguments)?;
        Some(format!("{page}: {name} {}\n{why}", arguments.join(" ")))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(
        wrong.is_empty(),
        "{} commands:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
