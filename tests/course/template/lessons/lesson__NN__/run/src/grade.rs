//! `cargo test -p lesson__NN__`: the student's answers.

#[macro_use]
extern crate lesson__NN__;

use lesson__NN__::Lesson__NN__;

fn main() -> std::process::ExitCode {
    lesson__NN__::grade(student!())
}
