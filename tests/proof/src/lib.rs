//! The proof: tests that course, graders, book and repository agree (see `tests/`).

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

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

/// A program that cargo has built.
///
/// # Panics
/// Panics if there is none.
pub fn program(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let folder = test.ancestors().nth(2).expect("cargo's folder of programs");
    let program = folder.join(name).with_extension(env::consts::EXE_EXTENSION);
    assert!(
        program.is_file(),
        "{} does not exist: run `cargo build`",
        program.display()
    );
    program
}

/// The program `course`; builds it if it is not built.
///
/// # Panics
/// Panics if it does not build.
pub fn course() -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    // `cargo test` sets variables about this package, with which build scripts that read them (as ring's does) would run again,
    // and everything that depends on ring would be rebuilt.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    let built = cargo
        .args(["build", "--quiet", "-p", "course"])
        .current_dir(root())
        .status();
    assert!(built.expect("cargo starts").success(), "cargo build -p course");
    program("course")
}
