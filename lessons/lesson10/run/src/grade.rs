//! `cargo test -p lesson10`: the student's answers.

#[macro_use]
extern crate lesson10;

use lesson10::Lesson10;

fn main() -> std::process::ExitCode {
    lesson10::grade(student!())
}
