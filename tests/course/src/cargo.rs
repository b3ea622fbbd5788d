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
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_package_are_not_passed_on() {
        // Cargo sets this for the tests that it runs, too.
        let cargo = command();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).collect();
        let is_removed = |name: &str| removed.iter().any(|(removed, _)| *removed == name);
        assert!(is_removed("CARGO_MANIFEST_DIR") && !is_removed("CARGO"));
    }
}
