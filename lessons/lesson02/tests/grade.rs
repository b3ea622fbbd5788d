//! `cargo test -p lesson02`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson02::LESSON, lesson02::STUDENT)
}
