//! `cargo test -p lesson01`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson01::LESSON, lesson01::STUDENT)
}
