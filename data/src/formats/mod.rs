//! Point clouds in files: LAS, LAZ, COPC, PLY, text and our shards.
//!
//! [`read`] gives a file as one [`Cloud`], [`open`] gives it piece by piece, so that a file larger than memory can be
//! converted or sampled. [`write`](fn@write) and [`Writer`] go the other way. What is damaged, cut short or hostile ends in an error
//! that names the file and the place; nothing that a file claims is believed before its length was looked at.
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
mod frame;
mod info;
mod las;
mod names;
mod ply;
mod reader;
mod sample;
mod shard;
mod text;
mod writer;

pub use format::Format;
pub use info::{Info, info};
pub use reader::{Invalid, ReadOptions, Reader, open, open_with, read, read_with};
pub use sample::{sample, thin};
pub use writer::{Options, Writer, convert, write};

use crate::Cloud;

/// Adds the points of `chunk` to `into`. Both come from one reader, so their origins and attributes agree.
fn append(into: &mut Cloud, mut chunk: Cloud) {
    if into.is_empty() {
        *into = chunk;
        return;
    }
    into.xyz.append(&mut chunk.xyz);
    into.intensity.append(&mut chunk.intensity);
    into.class.append(&mut chunk.class);
    into.returns.append(&mut chunk.returns);
}
