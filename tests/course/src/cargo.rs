//! Runs cargo from a program that cargo itself has started.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use serde::Deserialize;

/// Cargo with the environment of the user.
///
/// `cargo run` sets variables about the package of the program that it starts. With these, build scripts that read them (as
/// ring's does) would run again, and everything that depends on ring would be rebuilt.
pub fn command() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_a_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// A line of `--message-format=json` about a program that was built.
#[derive(Deserialize)]
struct Built {
    executable: Option<PathBuf>,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

/// The program of a lesson's checks, if this line is about it.
pub fn built(line: &str) -> Option<PathBuf> {
    let built: Built = serde_json::from_str(line).ok()?;
    let is_it = built.target.name.starts_with("grade") && built.target.kind == ["bin"];
    built.executable.filter(|_| is_it)
}

/// Builds the checks of a lesson and returns their program, or nothing if that fails; cargo then has printed why.
pub fn checks(root: &Path, lesson: &str) -> Result<Option<PathBuf>> {
    let package = format!("lesson{lesson}");
    let output = command()
        .args([
            "test",
            "--quiet",
            "--no-run",
            "--bin",
            &format!("grade{lesson}"),
            "-p",
            &package,
        ])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().find_map(built).filter(|_| output.status.success()))
}

/// Whether cargo sets this variable for the program that it starts.
pub fn is_of_a_package(name: &str) -> bool {
    let one = [
        "CARGO_CRATE_NAME",
        "CARGO_BIN_NAME",
        "CARGO_PRIMARY_PACKAGE",
        "OUT_DIR",
    ];
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || one.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_user_are_passed_on() {
        for mine in [
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_TERM_COLOR",
            "CARGO_BUILD_JOBS",
            "CARGO",
        ] {
            assert!(!is_of_a_package(mine), "{mine}");
        }
        // Cargo sets this for the tests that it runs, too.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let removed: Vec<_> = command()
            .get_envs()
            .filter(|(_, v)| v.is_none())
            .map(|(n, _)| n.to_owned())
            .collect();
        assert!(removed.contains(&"CARGO_MANIFEST_DIR".into()), "{removed:?}");
    }
}
