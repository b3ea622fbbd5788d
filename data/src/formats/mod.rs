//! Point clouds in files: LAS, LAZ, COPC and text.
//!
//! [`read`] returns a file as a [`Cloud`](crate::Cloud), [`load`] also what else its header says, and [`write`](fn@write) writes
//! one. A damaged, truncated or hostile file ends in an error that names the file and the place. Sizes that a file claims are
//! checked against its length before they are used.
//!
//! ```
//! use canopy_data::{Cloud, formats};
//! # fn main() -> anyhow::Result<()> {
//! # let home = tempfile::tempdir()?;
//! let path = home.path().join("tree.laz");
//! let tree = Cloud::from_points(vec![[1.25, 2.5, 0.125], [1.0, 2.0, 17.5]]);
//! formats::write(&path, &tree, &formats::Options::default())?;
//! assert_eq!(formats::read(&path)?.xyz, tree.xyz);
//! # Ok(())
//! # }
//! ```

mod format;
mod las;
mod loaded;
mod points;
mod reader;
mod rows;
mod text;
mod writer;

pub use format::Format;
pub use las::hide_decoder_panics;
pub use loaded::{Grid, Loaded};
pub use reader::{Info, info, load, read};
pub(crate) use text::is_prose;
pub use writer::{Options, write};
