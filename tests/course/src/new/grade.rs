//! `cargo test -p lesson__NN__` checks the student's answers.

fn main() -> std::process::ExitCode {
    grader::grade(&lesson__NN__::LESSON, lesson__NN__::STUDENT)
}
