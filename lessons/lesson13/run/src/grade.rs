//! `cargo test -p lesson13`: the student's answers.

#[macro_use]
extern crate lesson13;

use lesson13::Lesson13;

fn main() -> std::process::ExitCode {
    lesson13::grade(student!())
}
