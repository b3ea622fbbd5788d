//! `cargo course bundle`: one archive with what a class without a network needs.

use std::{
    fs::{self, File},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};
use grader::paths;
use tar::{Builder, HeaderMode};

use crate::{book, cargo, marks::put, version};

pub const HELP: &str = "Example:\n  cargo course bundle && cp target/bundle/canopy.tar.gz /media/stick\n\n\
    The exercises of the lessons are packed as they were handed out, without your answers.";

/// What is packed of the course's folder; an instructor's other files, such as grades, stay out.
const PARTS: &str = ".gitignore Cargo.lock Cargo.toml LICENSE-APACHE LICENSE-MIT README.md book clippy.toml data exercises \
    lessons rust-toolchain.toml slurm solutions tests";

/// Cargo's settings, and what the archive adds to them, as `cargo vendor` prints it.
const CONFIG: &str = ".cargo/config.toml";
const SOURCE: &str = "\n[source.crates-io]\nreplace-with = \"vendored-sources\"\n\n\
    [source.vendored-sources]\ndirectory = \"vendor\"\n";

/// Writes the archive, and returns how to use it.
///
/// # Errors
/// Returns an error if the book or the crates cannot be collected, or a file cannot be read or written.
pub fn bundle(root: &Path) -> Result<String> {
    ensure!(
        !root.join("vendor").exists(),
        "this folder was unpacked from such an archive; copy that archive"
    );
    let folder = root.join("target/bundle");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    // Without `--quiet`, `cargo vendor` prints a line for each crate.
    for arguments in [
        "fetch --locked",
        "vendor --locked --quiet --respect-source-config vendor",
    ] {
        eprintln!("cargo {arguments}");
        let mut cargo = cargo::command();
        let status = cargo.args(arguments.split(' ')).current_dir(&folder).status();
        ensure!(
            status.context("cargo could not be started")?.success(),
            "`cargo {arguments}` failed in {}; it requires a network, unless all crates were fetched before",
            folder.display()
        );
    }
    book::build(root)?;
    eprintln!("Compressing.");
    let (partial, out) = (folder.join("partial"), folder.join("canopy.tar.gz"));
    pack(root, &partial).with_context(|| format!("{} cannot be written", partial.display()))?;
    fs::rename(partial, &out)?;
    fs::remove_dir_all(folder.join("vendor"))?;
    Ok(format!(
        "{}: {} MB. On a machine with the Rust of rust-toolchain.toml, and without a network:\n  tar -xzf canopy.tar.gz\n  cd canopy\n  \
        cargo test -p lesson01\n",
        out.display(),
        out.metadata()?.len() / 1_000_000
    ))
}

/// Packs the course and what is in its folder `target`: the book and the crates.
fn pack(root: &Path, out: &Path) -> Result<()> {
    let mut tar = Builder::new(GzEncoder::new(File::create(out)?, Compression::default()));
    tar.mode(HeaderMode::Deterministic);
    let (inside, target) = (Path::new("canopy"), root.join("target"));
    for part in PARTS.split(' ') {
        for entry in version::sources(&root.join(part)) {
            let mut file = entry?.into_path();
            let path = version::name(root, &file);
            let rest = path.strip_prefix("exercises/lesson");
            if let Some((lesson, name)) = rest.and_then(|rest| rest.split_once("/src/")) {
                file = root.join(paths::stubs(lesson, name));
            }
            // An instructor's own file in the folder of an exercise has no stub.
            if file.is_file() {
                tar.append_path_with_name(&file, inside.join(path))?;
            }
        }
    }
    let config = target.join("bundle/config.toml");
    put(&config, fs::read_to_string(root.join(CONFIG))? + SOURCE)?;
    tar.append_path_with_name(config, inside.join(CONFIG))?;
    tar.append_dir_all(inside.join(book::BUNDLED), target.join("book"))?;
    tar.append_dir_all(inside.join("vendor"), target.join("bundle/vendor"))?;
    tar.into_inner()?.finish()?.sync_all()?;
    Ok(())
}
