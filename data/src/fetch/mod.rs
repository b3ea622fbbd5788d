//! Public data sets by name: where their files are, how long, under which licence; and a download that
//! resumes, checks, and never leaves half a file under its name.

mod catalogue;
mod download;
mod unpack;

pub use catalogue::{Entry, File, catalogue, find};
pub use download::{Expect, download, verify};
pub use unpack::unpack;
