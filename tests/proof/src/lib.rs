//! The proof: tests that course, graders, book and repository agree (see `tests/`).

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use walkdir::WalkDir;

/// The root folder of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// All files below `folder`, except hidden ones and build outputs.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    // Cargo's `target` is next to a manifest; a module may have this name as well.
    let kept = entries.filter_entry(|entry| {
        let hidden = entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
        let built = entry.file_name() == "target" && entry.path().with_file_name("Cargo.toml").is_file();
        !hidden && !built
    });
    let files = kept.flatten().filter(|entry| !entry.file_type().is_dir());
    files.map(walkdir::DirEntry::into_path).collect()
}

/// The program of the package `name`. Cargo builds it if a source has changed, and reports its path; one next to the test could be
/// older.
///
/// # Panics
/// Panics if it does not build.
pub fn program(name: &str) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    // `cargo test` sets variables about this package, with which build scripts that read them (as ring's does) would run again,
    // and everything that depends on ring would be rebuilt.
    for (variable, _) in env::vars_os() {
        let text = variable.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&variable);
        }
    }
    cargo.args("build --quiet --message-format json-render-diagnostics -p".split(' '));
    let built = cargo.args([name, "--bin", name]).current_dir(root());
    let built = built.stderr(Stdio::inherit()).output().expect("cargo starts");
    assert!(built.status.success(), "cargo build -p {name}");
    let messages = serde_json::Deserializer::from_slice(&built.stdout).into_iter::<Value>();
    let mut programs = messages.filter_map(|message| message.ok()?["executable"].as_str().map(PathBuf::from));
    programs.next().expect("cargo names the program")
}
