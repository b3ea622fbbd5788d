//! No command rebuilds what another command built.
//!
//! Cargo chooses a dependency's features by the packages that a command selects, and compiles the dependency once for
//! each set of features. These tests ask cargo which units each command would build (`--unit-graph` builds nothing), and
//! fail if a unit has other features in one command than in another. `tests/workspace-hack` makes them the same.

use std::{collections::BTreeMap, process::Output};

use proof::cargo;
use serde_json::Value;

/// A unit without its features: package, target and profile.
type Unit = String;
/// Features of a unit, each with the first command that chose them.
type Features = BTreeMap<String, String>;

/// Runs cargo with the arguments of `line`.
fn output(line: &str) -> Output {
    let mut command = cargo();
    // `--unit-graph` is unstable: if a new cargo changes its output, these tests fail and nothing else does.
    command.env("RUSTC_BOOTSTRAP", "1");
    let line = command.args(line.split_whitespace()).arg("--offline");
    line.output().expect("cargo starts")
}

/// Commands for all packages together, and `cargo run` and `cargo test` for each package that has a program or tests.
fn commands() -> Vec<String> {
    let output = output("metadata --no-deps --format-version 1");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let each = packages.iter().flat_map(|package| {
        let targets = package["targets"].as_array().expect("a list of targets");
        let runs = targets.iter().any(|target| target["kind"][0] == "bin");
        let tests = targets.iter().any(|target| target["test"] == true);
        let name = package["name"].as_str().expect("a name");
        let commands = [(runs, "build"), (tests, "test")]
            .into_iter()
            .filter(|(has, _)| *has);
        commands.map(move |(_, command)| format!("{command} -p {name}"))
    });
    let all = [
        "test",
        "build",
        "test --workspace",
        "build --workspace --all-targets",
        "check --workspace --all-targets",
        "doc --workspace --no-deps",
    ];
    all.map(str::to_owned).into_iter().chain(each).collect()
}

/// The units that `command` would build, with their features; an error if the sources of a package are missing.
fn units(command: &str) -> Result<Vec<(Unit, String)>, String> {
    let output = output(&format!("{command} --unit-graph -Zunstable-options"));
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let graph: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let units = graph["units"].as_array().ok_or("the unit graph has no units")?;
    let unit = |unit: &Value| {
        let (target, mut profile) = (&unit["target"], unit["profile"].clone());
        // Cargo does not compare profiles by name: a dependency that was built for `test` serves `dev`.
        profile["name"] = Value::Null;
        let parts = [
            &unit["pkg_id"],
            &target["kind"],
            &target["name"],
            &unit["mode"],
            &profile,
        ];
        (
            parts.map(Value::to_string).join(" "),
            unit["features"].to_string(),
        )
    };
    Ok(units.iter().map(unit).collect())
}

/// Build scripts follow the library of their package.
fn is_exempt(unit: &str) -> bool {
    unit.contains("custom-build")
}

/// Compares all commands with each other for one platform.
fn check(platform: &str) {
    let mut seen: BTreeMap<Unit, Features> = BTreeMap::new();
    for command in commands() {
        match units(&format!("{command}{platform}")) {
            Err(why) if !platform.is_empty() && why.contains("--offline") => {
                println!("not run, because not all packages of{platform} are downloaded: cargo fetch");
                return;
            }
            Err(why) => panic!("cargo {command} does not list its units: {why}"),
            Ok(units) => {
                for (unit, features) in units {
                    let known = seen.entry(unit).or_default();
                    known.entry(features).or_insert_with(|| command.clone());
                }
            }
        }
    }
    assert!(seen.len() > 300, "only {} units were found", seen.len());
    let mut rebuilt = String::new();
    for (unit, features) in seen
        .iter()
        .filter(|(unit, features)| features.len() > 1 && !is_exempt(unit))
    {
        rebuilt += &format!("\n{}\n", unit.split(' ').next().unwrap_or(unit));
        for (features, command) in features {
            rebuilt += &format!("  cargo {command}: {features}\n");
        }
    }
    assert!(
        rebuilt.is_empty(),
        "cargo builds these once for each set of features; list them in tests/workspace-hack/Cargo.toml:\n{rebuilt}"
    );
}

#[test]
fn commands_share_dependencies_here() {
    check("");
}

#[test]
fn commands_share_dependencies_on_windows() {
    check(" --target x86_64-pc-windows-msvc");
}

#[test]
fn commands_share_dependencies_on_macos() {
    check(" --target aarch64-apple-darwin");
}
