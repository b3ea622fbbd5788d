//! The commands of `canopy` and `cargo course` in the book exist, with their options and their values.

use std::{collections::BTreeSet, path::Path, process::Command};

use proof::program;

use crate::{Page, pages};

/// How a command of the book begins, and its program. A command of a lesson (`cargo run -p lesson01`) is not one.
const STARTS: [(&str, &str); 6] = [
    ("cargo course ", "course"),
    ("cargo run -- ", "canopy"),
    ("cargo run -q -- ", "canopy"),
    ("cargo run --features cuda -- ", "canopy"),
    ("canopy ", "canopy"),
    ("target/debug/canopy ", "canopy"),
];

/// The programs and the arguments of a page's commands; nothing for `canopy` as a word of a table or a message.
fn commands(page: &Page) -> Vec<(&'static str, Vec<String>)> {
    let mut code = page.spans.join("\n");
    page.blocks
        .iter()
        .for_each(|(_, block)| code += &format!("\n{}", block.replace("\\\n", " ")));
    let command = |line: &str| {
        let line = line.trim_start().trim_start_matches("$ ");
        let (start, program) = STARTS.iter().find(|(start, _)| line.starts_with(start))?;
        // A shell's operators, and what the book leaves out.
        let ends = |word: &&str| !["|", ">", "&&", "&", ";", "…", "2>"].contains(word);
        let words = line[start.len()..].split_whitespace().take_while(ends);
        let words: Vec<String> = words.map(|word| word.trim_matches('"').to_owned()).collect();
        // A setting of a file is not a command.
        (words.first().map(String::as_str) != Some("=")).then_some((*program, words))
    };
    code.lines().filter_map(command).collect()
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
#[ignore = "builds `canopy` and `cargo course`"]
fn the_programs_have_the_commands_of_the_book() {
    let (canopy, course) = (program("canopy"), program("course"));
    let wrong = |page: &Page| {
        let all: BTreeSet<_> = commands(page).into_iter().collect();
        let count = all.len();
        let wrong = all.into_iter().filter_map(|(name, arguments)| {
            let why = rejection(if name == "course" { &course } else { &canopy }, &arguments)?;
            Some(format!("{}: {name} {}\n{why}", page.name, arguments.join(" ")))
        });
        (count, wrong.collect::<Vec<_>>())
    };
    let page = "Of `canopy` | `canopy = 1` | `canopy plan\n--serach 512`:\n```sh\n$ canopy train \\\n  --epochs 3 > log\n```\n";
    let (count, found) = wrong(&Page::new(Path::new("made.md"), page.into()));
    assert!(
        count == 2 && found.len() == 1 && found[0].contains("--serach"),
        "{count}: {found:?}"
    );
    let (counts, found): (Vec<usize>, Vec<Vec<String>>) = pages().iter().map(wrong).unzip();
    let count: usize = counts.iter().sum();
    assert!(count > 100, "only {count} commands were found");
    assert!(found.concat().is_empty(), "{}", found.concat().join("\n"));
}
