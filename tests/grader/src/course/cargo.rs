//! How cargo is called from a program that cargo itself has started.

use std::{env, process::Command};

/// Cargo, as if it had been typed.
///
/// `cargo run` tells the program that it starts of the program's own package, in variables. Handed on, these would make
/// build scripts that look at them (ring's does) run again, and with them half of the house be built anew.
pub fn command() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_a_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

fn is_of_a_package(name: &str) -> bool {
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
    fn what_a_user_sets_is_handed_on() {
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
