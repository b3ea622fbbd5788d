//! Runs cargo from a program that cargo itself has started.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use serde_json::Value;

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

/// Builds the checks of a lesson and returns their program, or nothing if that fails; cargo then has printed why.
pub fn checks(root: &Path, lesson: &str) -> Result<Option<PathBuf>> {
    let name = format!("grade{lesson}");
    let output = command()
        .args(["test", "--quiet", "--no-run", "--bin", &name])
        .args(["-p", &format!("lesson{lesson}")])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let program = |line: &str| {
        let built: Value = serde_json::from_str(line).ok()?;
        let program = built["executable"].as_str()?;
        (built["target"]["name"] == *name).then(|| PathBuf::from(program))
    };
    Ok(text.lines().find_map(program).filter(|_| output.status.success()))
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
    fn variables_of_the_user_are_passed_on_and_those_of_a_package_are_not() {
        let of_package = ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR"].map(is_of_a_package);
        assert_eq!(of_package, [false; 3]);
        // Cargo sets this for the tests that it runs, too.
        let cargo = command();
        let mut removed = cargo.get_envs().filter(|(_, value)| value.is_none());
        assert!(removed.any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
    }
}
