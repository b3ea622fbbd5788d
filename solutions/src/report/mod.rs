//! What a run's results look like: the web page, plots, profiles.
//!
//! This module reads results and knows nothing about how they are produced. A page is one self-contained file: its content
//! security policy allows no network request and no script except its own.

mod html;
mod page;
mod points;
pub mod profiled;
pub mod svg;
mod sweep;
mod view;

pub use page::{run_page, write};
pub use sweep::write_sweep;
pub use view::{ViewCloud, view_page};
