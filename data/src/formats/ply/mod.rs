//! PLY, Stanford's polygon format, ASCII and binary of either byte order.
//!
//! Of a file's elements only `vertex` is read; its properties may be of any type and in any order, and lists, there or
//! in other elements, are passed over. The crates for PLY hold a whole file in memory, element by element with a map of
//! names; trees of hundreds of millions of points need a stream, so it is written here.

mod header;
mod read;
mod write;

pub use read::open;
pub use write::Sink;
