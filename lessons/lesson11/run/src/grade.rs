//! `cargo test -p lesson11`: the student's answers.

#[macro_use]
extern crate lesson11;

use lesson11::Lesson11;

fn main() -> std::process::ExitCode {
    lesson11::grade(student!())
}
