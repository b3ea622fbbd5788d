//! What a run leaves to look at: the web page, pictures, TensorBoard files.
//!
//! This room reads what a run left and knows nothing of how it came about. A page is one file that asks the
//! network for nothing: what it draws with stands in it, and its content security policy lets nothing else run.

mod html;
mod page;
mod points;
pub mod svg;
pub mod tensorboard;
mod types;
mod view;

pub use page::{run_page, write};
pub use types::{ClassRow, CriticalPoints, EpochRow, Evaluation, RunReport, WrongTree};
pub use view::{ColorBy, ViewCloud, view_page};
