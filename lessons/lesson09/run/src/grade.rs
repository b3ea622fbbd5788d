//! `cargo test -p lesson09`: the student's answers.

#[macro_use]
extern crate lesson09;

use lesson09::Lesson09;

fn main() -> std::process::ExitCode {
    lesson09::grade(student!())
}
