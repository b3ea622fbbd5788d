//! `cargo test -p lesson05`: the student's answers.

#[macro_use]
extern crate lesson05;

use lesson05::Lesson05;

fn main() -> std::process::ExitCode {
    lesson05::grade(student!())
}
