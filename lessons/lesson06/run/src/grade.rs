//! `cargo test -p lesson06`: the student's answers.

#[macro_use]
extern crate lesson06;

use lesson06::Lesson06;

fn main() -> std::process::ExitCode {
    lesson06::grade(student!())
}
