//! `cargo test -p lesson06`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson06::LESSON, lesson06::STUDENT)
}
