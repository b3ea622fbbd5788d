//! `cargo test -p lesson01`: the student's answers.

#[macro_use]
extern crate lesson01;

use lesson01::Lesson01;

fn main() -> std::process::ExitCode {
    lesson01::grade(student!())
}
