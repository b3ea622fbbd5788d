//! `book ROOT OUT`: builds the book of the course at ROOT into the folder OUT.

use std::{env, path::Path};

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [root, out] = &arguments[..] else {
        bail!("usage: book ROOT OUT");
    };
    book::build(Path::new(root), Path::new(out))
}
