//! Runs cargo from a program that cargo itself has started.

use std::{
    env,
    path::Path,
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

/// Builds with the `arguments` of cargo, and returns what it says of each target, or nothing if that fails; cargo then has
/// printed why.
pub fn build(root: &Path, arguments: &str) -> Result<Option<Vec<Value>>> {
    let output = command()
        .args(arguments.split(' '))
        .args(["--quiet", "--message-format=json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice(line).ok());
    Ok(output.status.success().then(|| messages.collect()))
}
