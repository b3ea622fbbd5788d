//! `cargo test -p lesson04`: the student's answers.

#[macro_use]
extern crate lesson04;

use lesson04::Lesson04;

fn main() -> std::process::ExitCode {
    lesson04::grade(student!())
}
