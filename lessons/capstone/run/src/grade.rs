//! `cargo run -p capstone`: the student's submission at work. Grading compiles this file with each submission.

fn main() -> std::process::ExitCode {
    capstone::main(exercisecapstone::settings, exercisecapstone::augment)
}
