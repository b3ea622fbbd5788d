//! `cargo test -p lesson08`: the student's answers.

#[macro_use]
extern crate lesson08;

use lesson08::Lesson08;

fn main() -> std::process::ExitCode {
    lesson08::grade(student!())
}
