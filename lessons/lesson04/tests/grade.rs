//! `cargo test -p lesson04`: the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson04::LESSON, lesson04::STUDENT)
}
