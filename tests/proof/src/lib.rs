//! The proof: tests that course, graders, book and repository agree (see `tests/`).

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The root folder of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Cargo in the root folder, with the environment of a user. `cargo test` sets variables about this package, with which
/// build scripts that read them (as ring's does) would run again, and everything that depends on ring would be rebuilt.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo.current_dir(root());
    cargo
}

/// The program `course`; builds it if it is not built.
///
/// # Panics
/// Panics if it does not build.
pub fn course() -> PathBuf {
    let built = cargo()
        .args(["build", "--quiet", "-p", "course", "--message-format=json"])
        .output()
        .expect("cargo starts");
    let text = String::from_utf8_lossy(&built.stdout);
    let program = text
        .split("\"executable\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success() && program.is_some(), "{errors}");
    PathBuf::from(program.unwrap_or_default())
}
