//! `canopy doctor` on this machine, and with an `nvidia-smi` that prints what real ones print.

use std::os::unix::fs::PermissionsExt;

use crate::{canopy, fs};

/// Runs `canopy doctor --json` where `nvidia-smi` is the shell script `script`. Returns the lines, and whether it succeeded.
fn doctor(script: &str) -> (Vec<serde_json::Value>, bool) {
    let folder = tempfile::tempdir().unwrap();
    let smi = folder.path().join("nvidia-smi");
    fs::write(&smi, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&smi, fs::Permissions::from_mode(0o755)).unwrap();
    let output = canopy("doctor --json")
        .env("PATH", folder.path())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["wrong"] == 0, output.status.success(), "{report}");
    let lines = report["lines"].as_array().unwrap().clone();
    (lines, output.status.success())
}

#[test]
fn gpus_and_the_errors_of_their_driver_are_explained() {
    let listed = "echo 'Test Card, 7.5, 570.1, 16384 MiB, 12 MiB, 3 %'\necho 'Test Card, 7.5, 570.1, 16384 MiB, 0 MiB, [N/A]'";
    let (lines, _) = doctor(listed);
    let names: Vec<&str> = lines.iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["GPU 0", "GPU 1", "CUDA", "CPU", "Slurm"]);
    let found = lines[0]["found"].as_str().unwrap();
    assert!(found.contains("capability 7.5, 16384 MiB"), "{found}");
    // This program is built without CUDA, or it finds no GPU.
    assert_ne!(lines[2]["state"], "ok", "{}", lines[2]);
    let failing = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18";
    let (lines, succeeded) = doctor(failing);
    assert_ne!(lines[0]["state"], "ok");
    assert!(lines[0]["do"].as_str().unwrap().contains("restart the machine"));
    assert_eq!(succeeded, !cfg!(feature = "cuda"), "without CUDA it is a warning");
}

#[test]
fn the_report_ends_with_a_verdict() {
    let printed = crate::stdout(canopy("doctor").env("PATH", "/nonexistent"));
    crate::assert_contains(&printed, &["none: there is no nvidia-smi", "Slurm", "Wrong: 0."]);
}
