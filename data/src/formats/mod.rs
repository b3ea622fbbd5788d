//! Point clouds in files: LAS, LAZ, COPC, PLY, text, and shards in safetensors.
//!
//! [`read`] returns a file as one [`Cloud`](crate::Cloud). [`open`] reads it in pieces, so that a file larger than memory can be
//! converted or sampled. [`write`](fn@write) and [`Writer`] write. A damaged, truncated or hostile file ends in an
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

mod detect;
mod format;
mod frame;
mod info;
mod las;
mod names;
mod ply;
mod reader;
mod rows;
mod sample;
mod shard;
mod sink;
mod source;
mod text;
mod writer;

pub use format::Format;
pub use frame::Invalid;
pub use info::{Info, check, info};
pub use las::hide_decoder_panics;
pub use reader::{Reader, open, open_with, read};
pub use sample::sample;
pub use sink::{Grid, Options};
pub(crate) use text::is_prose;
pub use writer::{Writer, convert, write};
