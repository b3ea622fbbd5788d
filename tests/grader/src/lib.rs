//! The checking library behind `cargo test -p lessonNN`.
//!
//! A lesson consists of a contract (a struct of function pointers), checks of it, and answers known to be wrong or right.
//! The grader runs each check on its own thread with a deadline, and reports what is not right and why. It does not depend
//! on candle or canopy.
//!
//! ```
//! use grader::{Verdict, draw, given};
//!
//! struct Contract {
//!     double: fn(f32) -> f32,
//! }
//!
//! fn doubles_any_number(answer: &Contract) -> Verdict {
//!     let x = draw().number(-9.0, 9.0) as f32;
//!     given(format!("x = {x}")).close("result", (answer.double)(x), 2.0 * x)
//! }
//!
//! assert!(doubles_any_number(&Contract { double: |x| x + x }).is_ok());
//! assert!(doubles_any_number(&Contract { double: |x| x * x * x + 90.0 }).is_err());
//! ```

mod cause;
mod contract;
mod draw;
pub mod grades;
mod harness;
pub mod judge;
mod kernel;
mod lesson;
mod manifest;
pub mod paths;
pub mod progress;
mod prove;
pub mod race;
mod report;
mod rows;
mod run;
mod solution_call;
pub mod source;
mod state;
mod stuck;
pub mod tell;
mod values;
mod verdict;

pub use contract::Contract;
pub use draw::{Draw, draw, seed};
pub use harness::grade;
pub use lesson::{Check, DEADLINE, Known, Lesson, Mistake, Right, Text};
pub use manifest::{Exercise, Manifest, item, promise};
pub use prove::{corpus, matrix};
pub use rows::{Facts, each};
pub use run::{Outcome, compiling, not_run, run};
pub use solution_call::solution_call;
pub use state::worst;
pub use values::{Values, number};
pub use verdict::{Case, Finding, Verdict, Wrong, given};
