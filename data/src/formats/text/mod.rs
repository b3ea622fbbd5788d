//! Text: a point a line, as XYZ, PTS, TXT, CSV and ASC files have it.
//!
//! Separators, a header, a count line, comments and decimal commas are found out from the first lines.

mod layout;
mod read;
mod write;

pub use layout::looks_numeric;
pub use read::open;
pub use write::Sink;
