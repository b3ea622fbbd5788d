//! Tests of the templates without a Slurm.

use std::process::Command;

use super::*;

/// The project's templates for a site with these settings.
fn of_site(settings: &str) -> Scripts {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    fs::write(&file, settings).unwrap();
    let slurm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../slurm");
    scripts(&slurm, &Site::load(&file).unwrap()).unwrap()
}

/// The requests of a script.
fn requests(scripts: &Scripts, name: &str) -> Vec<String> {
    let lines = scripts[name].as_ref().unwrap().lines();
    lines
        .filter_map(|l| l.strip_prefix("#SBATCH --"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_site_sets_the_requests_of_its_jobs() {
    let all = of_site(
        "partition = 'work'\ngpu_partition = 'gpu'\naccount = 'course'\ncores = 6\nmemory_gib = 20\ngres = 'gpu:a100'\n\
         gpus_per_node = 4\nnodes = 3\nmargin = 90\nreservation = 'monday'\nmail = 'a@example.org'\nmig = 'gpu:1g.5gb'",
    );
    let gpus = requests(&all, "train-nodes");
    for wanted in [
        "job-name=train-nodes",
        "nodes=3",
        "ntasks-per-node=4",
        "cpus-per-task=6",
        "mem=80G",
        "gres=gpu:a100:4",
        "partition=gpu",
        "account=course",
        "time=04:00:00",
        "signal=B:USR1@90",
        "requeue",
        "mail-type=END,FAIL",
        "output=slurm-logs/%x-%j.log",
    ] {
        assert!(gpus.iter().any(|r| r == wanted), "no {wanted} in {gpus:?}");
    }
    assert!(!gpus.iter().any(|r| r.starts_with("reservation")), "{gpus:?}");
    let cpus = requests(&all, "train-cpus");
    assert!(cpus.contains(&"partition=work".into()), "{cpus:?}");
    assert!(!cpus.iter().any(|r| r.starts_with("gres")), "{cpus:?}");
    let day = requests(&all, "workshop");
    assert!(
        day.contains(&"reservation=monday".into()) && day.contains(&"gres=gpu:1g.5gb:1".into()),
        "{day:?}"
    );
    assert!(requests(&all, "sweep").contains(&"array=1-4".into()));
}

#[test]
fn empty_settings_request_nothing() {
    let all = of_site("");
    let one = requests(&all, "train-gpu");
    for never in ["partition", "account", "qos", "mail", "reservation"] {
        assert!(!one.iter().any(|r| r.starts_with(never)), "{one:?}");
    }
}

#[test]
fn a_template_that_a_site_cannot_have_says_which_setting_is_missing() {
    let Lacking(why) = of_site("")["train-mig"].clone().unwrap_err();
    assert!(why.contains("it needs the setting mig: the gres"), "{why}");
}

#[test]
fn an_error_of_a_template_names_its_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.sbatch.j2");
    let site = || {
        toml::from_str(
            &fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../slurm/site.toml")).unwrap(),
        )
    };
    for (text, part) in [
        ("#!/bin/sh\n{{ site.partitoin }}\n", "undefined"),
        ("#!/bin/sh\n{% iff %}\n", "syntax error"),
    ] {
        fs::write(&file, text).unwrap();
        let error = scripts(folder.path(), &site().unwrap()).unwrap_err().to_string();
        assert!(
            error.contains("own.sbatch.j2:2:") && error.contains(part),
            "{error}"
        );
    }
}

#[test]
fn words_of_a_site_reach_bash_as_they_are() {
    for word in [
        "",
        "a b",
        "it's",
        "$(id)",
        "`id`",
        "a;b",
        "\\",
        "\"",
        "*",
        "--features=a,b",
    ] {
        let script = format!("printf %s {}", quoted(word));
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
    }
}

#[test]
fn every_script_sets_its_requests_first_and_stops_at_its_first_error() {
    for (name, script) in of_site("gpus_per_node = 2\nmig = 'gpu:1g.5gb'\nmodules = ['gcc/13']") {
        let script = script.unwrap();
        let body: Vec<&str> = script
            .lines()
            .filter(|l| !l.starts_with('#') && !l.is_empty())
            .collect();
        assert_eq!(body.first(), Some(&"set -euo pipefail"), "{name}");
        assert!(script.starts_with("#!/usr/bin/env bash\n# "), "{name}");
        // Slurm reads requests up to the first line that is not a comment.
        assert!(script.rfind("\n#SBATCH") < script.find("\nset -euo"), "{name}");
    }
}

/// A script's output and exit code outside Slurm. With DRY it prints its commands only.
fn dry_run(name: &str, folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let all = of_site("gpus_per_node = 2\nmig = 'gpu:1g.5gb'");
    let file = folder.join(format!("{name}.sbatch"));
    fs::write(&file, all[name].as_ref().unwrap()).unwrap();
    let mut command = Command::new("bash");
    command.arg(&file).args(arguments).current_dir(folder);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("SLURM_") {
            command.env_remove(variable);
        }
    }
    for variable in ["CANOPY", "CARGO", "DEVICE"] {
        command.env_remove(variable);
    }
    let output = command.env("DRY", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (text.into_owned(), output.status.code())
}

#[test]
fn a_dry_run_prints_the_quoted_command_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for course in ["lessons/lesson04", "exercises"] {
        fs::create_dir_all(folder.path().join(course)).unwrap();
    }
    let cores = std::thread::available_parallelism().unwrap();
    for (name, arguments, expected) in [
        (
            "train-gpu",
            &["a run; rm -rf x", "--data", "my trees"][..],
            format!(
                "canopy --threads {cores} train --out a\\ run\\;\\ rm\\ -rf\\ x --device cuda --data my\\ trees"
            ),
        ),
        (
            "train-threads",
            &["4", "runs/r", "--epochs", "2"],
            format!("canopy --threads {cores} train --out runs/r --device cpu --ranks 4 --epochs 2"),
        ),
        (
            "train-cpus",
            &["runs/r"],
            format!("mpirun -n 2 --bind-to none canopy --threads {cores} train --out runs/r --device cpu"),
        ),
        (
            "lesson",
            &["04", "4.2"],
            "cargo test --offline --package lesson04 -- 4.2".to_owned(),
        ),
        (
            "build",
            &["--jobs", "2"],
            "cargo build --offline --package canopy --release --features cuda --jobs 2".to_owned(),
        ),
    ] {
        assert_eq!(
            dry_run(name, folder.path(), arguments),
            (format!("+ {expected}\n"), Some(0))
        );
    }
    assert!(!folder.path().join("runs").exists());
    for (name, arguments) in [
        ("train-gpu", &[][..]),
        ("train-threads", &["0", "runs/r"]),
        ("train-threads", &["4"]),
        ("lesson", &[]),
        ("lesson", &["../04"]),
        ("workshop", &["99"]),
        ("sweep", &["no-such-file", "runs"]),
        ("monitor", &["$(id)"]),
        ("grade", &["handed-in"]),
    ] {
        let (text, code) = dry_run(name, folder.path(), arguments);
        assert_eq!(code, Some(2), "{name} {arguments:?}: {text}");
        assert!(text.contains("error: "), "{text}");
    }
}
