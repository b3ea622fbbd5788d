//! PLY, the Stanford polygon format: ASCII and binary of either byte order.
//!
//! Only the element `vertex` is used. Its properties may have any type and order; lists and other elements are skipped.
//! Files are read vertex by vertex, so they may be larger than memory.

mod header;
mod read;

pub use read::open;
