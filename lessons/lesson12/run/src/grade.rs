//! `cargo test -p lesson12`: the student's answers.

#[macro_use]
extern crate lesson12;

use lesson12::Lesson12;

fn main() -> std::process::ExitCode {
    lesson12::grade(student!())
}
