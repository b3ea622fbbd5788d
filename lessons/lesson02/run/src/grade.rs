//! `cargo test -p lesson02`: the student's answers.

#[macro_use]
extern crate lesson02;

use lesson02::Lesson02;

fn main() -> std::process::ExitCode {
    lesson02::grade(student!())
}
