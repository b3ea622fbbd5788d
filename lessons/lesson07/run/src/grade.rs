//! `cargo test -p lesson07`: the student's answers.

#[macro_use]
extern crate lesson07;

use lesson07::Lesson07;

fn main() -> std::process::ExitCode {
    lesson07::grade(student!())
}
