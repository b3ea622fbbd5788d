//! `cargo test -p lesson05`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson05::LESSON, lesson05::STUDENT)
}
