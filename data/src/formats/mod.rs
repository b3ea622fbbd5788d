//! Point clouds in files: LAS, LAZ, COPC and text.
//!
//! [`read`] returns a file as one [`Cloud`](crate::Cloud). [`open`] reads it in pieces, so that a file larger than memory can be
//! converted. [`write`](fn@write) and [`Writer`] write. A damaged, truncated or hostile file ends in an
//! error that names the file and the place. Sizes that a file claims are checked against its length before they are used.
//!
//! ```
//! use canopy_data::{Cloud, formats};
//! # fn main() -> anyhow::Result<()> {
//! # let home = tempfile::tempdir()?;
//! let path = home.path().join("tree.laz");
//! let tree = Cloud::from_points(vec![[1.25, 2.5, 0.125], [1.0, 2.0, 17.5]]);
//! formats::write(&path, &tree, &formats::Options::default())?;
//! assert_eq!(formats::read(&path)?.xyz, tree.xyz);
//! for chunk in formats::open(&path)? {
//!     println!("{} points", chunk?.len());
//! }
//! # Ok(())
//! # }
//! ```

mod format;
mod las;
mod points;
mod reader;
mod rows;
mod sample;
mod stream;
mod text;
mod writer;

pub use format::Format;
pub use las::hide_decoder_panics;
pub use reader::{Info, Reader, info, open, read};
pub use sample::sample;
pub use stream::Grid;
pub(crate) use text::is_prose;
pub use writer::{Options, Writer, convert, write};
