//! `cargo test -p lesson03`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson03::LESSON, lesson03::STUDENT)
}
