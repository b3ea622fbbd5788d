//! `cargo test -p lesson07`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson07::LESSON, lesson07::STUDENT)
}
