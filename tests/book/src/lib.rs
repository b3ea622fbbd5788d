//! The course book as pages.

mod touch;

use std::{fs, path::Path};

use anyhow::{Context, Result};
use mdbook_driver::MDBook;

/// Builds the book of the course at `root` into the empty or new folder `out`.
///
/// # Errors
/// A chapter of `SUMMARY.md` that is missing, a folder that cannot be written, or interactive pieces that do not compile.
pub fn build(root: &Path, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("{} cannot be created", out.display()))?;
    let mut book = MDBook::load(root.join("book"))?;
    // Without this, mdBook would create the file of a chapter that is missing.
    book.config.build.create_missing = false;
    book.config.build.build_dir = out
        .canonicalize()
        .with_context(|| format!("{} cannot be opened", out.display()))?;
    book.build()?;
    touch::build(root, out)
}
