//! Text with a point per line: XYZ, PTS, TXT, CSV and ASC files.
//!
//! Separators, a header, a count line, comments and decimal commas are recognised from the first lines.

mod layout;
mod read;

pub use layout::{is_prose, looks_numeric};
pub use read::open;
