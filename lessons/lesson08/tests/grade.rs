//! `cargo test -p lesson08`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson08::LESSON, lesson08::STUDENT)
}
