//! The job templates of `slurm/`: their syntax, and their behaviour without Slurm.

use std::os::unix::fs::PermissionsExt;

use crate::*;

pub fn templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../slurm")
        .canonicalize()
        .unwrap()
}

/// `bash TEMPLATE` outside Slurm: without Slurm's variables.
fn bash(template: &str, dir: &Path) -> Command {
    let mut command = Command::new("bash");
    command.arg(templates().join(template)).current_dir(dir);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SLURM_") {
            command.env_remove(name);
        }
    }
    command
        .env("CANOPY", env!("CARGO_BIN_EXE_canopy"))
        .env_remove("CARGO");
    command.env_remove("CANOPY_CACHE").env("DEVICE", "cpu");
    command
}

/// Standard output and error.
fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

const TINY: [&str; 10] = [
    "--epochs",
    "40",
    "--batch",
    "4",
    "--points",
    "48",
    "--width",
    "16",
    "--checkpoint-seconds",
    "0",
];

#[test]
fn every_template_is_valid_bash_and_exits_at_its_first_error() {
    let mut seen = 0;
    for entry in fs::read_dir(templates()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "sbatch") {
            continue;
        }
        seen += 1;
        succeeds(Command::new("bash").arg("-n").arg(&path));
        let script = fs::read_to_string(&path).unwrap();
        let body: Vec<&str> = script.lines().filter(|l| !l.starts_with('#')).collect();
        assert_eq!(body.first(), Some(&"set -euo pipefail"), "{}", path.display());
        // Slurm reads its options up to the first line that is not a comment.
        let last = script.rfind("#SBATCH").unwrap();
        assert!(last < script.find("set -euo").unwrap(), "{}", path.display());
    }
    assert_eq!(seen, 3);
}

#[test]
fn a_dry_run_prints_the_quoted_command_and_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let dry_run = |template: &str, arguments: &[&str]| {
        let mut command = bash(template, dir.path());
        command.args(arguments).env("DRY", "1").env("CANOPY", "canopy");
        said(&succeeds(&mut command))
    };
    assert_eq!(
        dry_run("gpu.sbatch", &["a run; rm -rf x", "--data", "my trees"]),
        "+ canopy train --out a\\ run\\;\\ rm\\ -rf\\ x --device cpu --data my\\ trees\n"
    );
    let ranks = dry_run("ranks.sbatch", &["4", "runs/r", "--epochs", "2"]);
    assert!(
        ranks.ends_with("train --ranks 4 --out runs/r --epochs 2\n"),
        "{ranks}"
    );
    fs::create_dir_all(dir.path().join("lessons/lesson04")).unwrap();
    let lesson = dry_run("lesson.sbatch", &["04", "4.2"]);
    assert_eq!(lesson, "+ cargo test --offline --package lesson04 -- 4.2\n");
    assert!(!dir.path().join("runs").exists());
    for (template, arguments) in [
        ("gpu.sbatch", &[][..]),
        ("ranks.sbatch", &["0", "runs/r"]),
        ("ranks.sbatch", &["4"]),
        ("lesson.sbatch", &[]),
        ("lesson.sbatch", &["../04"]),
        ("lesson.sbatch", &["99"]),
    ] {
        let output = bash(template, dir.path()).args(arguments).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "{template} {arguments:?}: {}",
            said(&output)
        );
    }
}

/// Shell scripts replace Slurm's `srun` and `scontrol`, so this tests the template alone: it forwards the signal to the
/// training, it requeues the job after exit code 75, and the second run of the job resumes the first.
#[test]
fn the_gpu_template_saves_at_the_signal_requeues_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, body) in [
        ("srun", "shift 2\nexec \"$@\""),
        ("scontrol", "echo \"$@\" >> \"$REQUEUED\""),
    ] {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let requeued = dir.path().join("requeued");
    let run = dir.path().join("the run");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let job = || {
        let mut command = bash("gpu.sbatch", dir.path());
        command.arg(&run).arg("--data").arg(&data).args(TINY);
        command
            .env("SLURM_JOB_ID", "4711")
            .env("PATH", &path)
            .env("REQUEUED", &requeued);
        command
    };
    assert_eq!(interrupted(&mut job(), &run, libc::SIGUSR1), Some(0));
    assert_eq!(fs::read_to_string(&requeued).unwrap(), "requeue 4711\n");
    assert!(!run.join("report.html").exists());
    assert_contains(&said(&succeeds(&mut job())), &["--resume"]);
    assert!(run.join("report.html").exists());
    let rows = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.lines().count(), 40);
    let again = fs::read_to_string(&requeued).unwrap();
    assert_eq!(again, "requeue 4711\n", "it was requeued again");
}

#[test]
fn a_job_fails_if_its_run_fails() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = bash("gpu.sbatch", dir.path());
    let error = stderr(command.args(["run", "--data", "no/such/folder"]));
    assert_contains(&error, &["no/such/folder"]);
}

#[test]
fn the_template_of_ranks_trains() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let mut command = bash("ranks.sbatch", dir.path());
    command.args(["2", "the run", "--data"]).arg(&data).args(TINY);
    succeeds(&mut command);
    assert!(dir.path().join("the run/report.html").exists());
}
