//! `cargo test -p lesson03`: the student's answers.

#[macro_use]
extern crate lesson03;

use lesson03::Lesson03;

fn main() -> std::process::ExitCode {
    lesson03::grade(student!())
}
