//! The job scripts of `cargo course slurm render` on a real Slurm: `test.sh` submits every template of `slurm/`, and each runs to its
//! end, on CPUs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

#[test]
#[ignore = "not run, because it starts a Slurm on this machine; `.ci/run` runs it"]
fn the_templates_run_on_a_real_slurm() {
    let mut test = Command::new("tests/slurm/test.sh");
    assert!(test.arg(env!("CARGO_BIN_EXE_course")).status().unwrap().success());
}
