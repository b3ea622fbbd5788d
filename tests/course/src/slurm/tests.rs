//! Tests of the settings and the templates without a Slurm.

use std::process::Command;

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../slurm")
}

/// The project's templates for a site with these settings.
fn of_site(text: &str) -> BTreeMap<String, Result<String, String>> {
    scripts(&root(), &settings(text).unwrap()).unwrap()
}

#[test]
fn a_wrong_setting_is_named_with_what_was_expected_and_no_value_adds_a_command() {
    let refused = |text: &str, part: &str| {
        let error = format!("{:#}", settings(text).unwrap_err());
        assert!(error.contains(part), "no {part:?} in: {error}");
    };
    refused(
        "cores = 4\npatition = \"gpu\"\n",
        "there is no setting patition; the settings are: account,",
    );
    refused(
        "cores = \"many\"\n",
        "cores is \"many\"; expected a number from 1, such as 8",
    );
    refused("cores = 0\n", "cores is 0; expected a number from 1");
    refused("launcher = \"ssh\"\n", "expected \"mpirun\" or \"srun\"");
    refused("build = [\"--release\\nid\"]\n", "build is");
    refused("partition = \"gpu", "line 1");
    for key in settings("")
        .unwrap()
        .iter()
        .filter_map(|(key, value)| value.is_str().then_some(key))
        .filter(|key| *key != "canopy")
    {
        for value in [
            "a b",
            "/a\\n#SBATCH --uid=0",
            "/$(id)",
            "/a`id`",
            "/a\\\"; id #",
            "/a;id",
        ] {
            refused(&format!("{key} = \"{value}\""), &format!("{key} is"));
        }
    }
    for example in fs::read_dir(root().join("sites")).unwrap() {
        site(&example.unwrap().path()).unwrap();
    }
}

#[test]
fn a_site_sets_the_requests_of_its_jobs() {
    let requests = |site: &str, name: &str| {
        let script = of_site(site)[name].clone().unwrap();
        let lines = script.lines().filter_map(|line| line.strip_prefix("#SBATCH --"));
        lines.map(|line| format!(" {line} ")).collect::<String>()
    };
    let site = "partition = 'work'\ngpu_partition = 'gpu'\naccount = 'course'\ncores = 6\nmemory_gib = 20\ngres = 'gpu:a100'\n\
        gpus_per_node = 4\nnodes = 3\nmargin = 90\nreservation = 'monday'\nmail = 'a@example.org'\nmig = 'gpu:1g.5gb'";
    for (site, name, wanted, not_wanted) in [
        (
            site,
            "train-nodes",
            "job-name=train-nodes nodes=3 ntasks-per-node=4 cpus-per-task=6 mem=80G gres=gpu:a100:4 partition=gpu account=course \
             time=04:00:00 signal=B:USR1@90 requeue mail-type=END,FAIL output=slurm-logs/%x-%j.log",
            "reservation",
        ),
        (site, "train-cpus", "partition=work", "gres"),
        (site, "workshop", "reservation=monday gres=gpu:1g.5gb:1", "signal"),
        (site, "sweep", "array=1-4", "reservation"),
        (
            "",
            "train-gpu",
            "gres=gpu:1",
            "partition account qos mail reservation",
        ),
    ] {
        let found = requests(site, name);
        assert!(
            wanted
                .split(' ')
                .all(|request| found.contains(&format!(" {request} "))),
            "{name}: {found}"
        );
        assert!(
            !not_wanted
                .split(' ')
                .any(|request| found.contains(&format!(" {request}"))),
            "{name}: {found}"
        );
    }
}

#[test]
fn a_template_that_fails_names_the_missing_setting_or_its_file_and_line() {
    let why = of_site("")["train-mig"].clone().unwrap_err();
    assert!(why.starts_with("it needs the setting mig: the gres"), "{why}");
    let folder = tempfile::tempdir().unwrap();
    for (text, part) in [
        ("#!/bin/sh\n{{ site.partitoin }}\n", "undefined"),
        ("#!/bin/sh\n{% iff %}\n", "syntax error"),
    ] {
        fs::write(folder.path().join("own.sbatch.j2"), text).unwrap();
        let error = scripts(folder.path(), &settings("").unwrap())
            .unwrap_err()
            .to_string();
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
        assert!(script.starts_with("#!/usr/bin/env bash\n# "), "{name}");
        // Slurm reads requests up to the first line that is not a comment.
        let code = script
            .lines()
            .find(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(code, Some("set -euo pipefail"), "{name}");
        assert!(script.rfind("\n#SBATCH") < script.find("\nset -euo"), "{name}");
    }
}

/// A script's output and exit code outside Slurm. With DRY it prints its commands only.
fn dry_run(name: &str, folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let file = folder.join(format!("{name}.sbatch"));
    fs::write(
        &file,
        of_site("gpus_per_node = 2\nmig = 'gpu:1g.5gb'")[name]
            .as_ref()
            .unwrap(),
    )
    .unwrap();
    let mut command = Command::new("bash");
    command
        .arg(&file)
        .args(arguments)
        .current_dir(folder)
        .env("DRY", "1");
    let of_jobs = |name: &str| name.starts_with("SLURM_") || ["CANOPY", "CARGO", "DEVICE"].contains(&name);
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_jobs)) {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
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
            "canopy --threads CORES train --out a\\ run\\;\\ rm\\ -rf\\ x --device cuda --data my\\ trees",
        ),
        (
            "train-threads",
            &["4", "runs/r", "--epochs", "2"],
            "canopy --threads CORES train --out runs/r --device cpu --ranks 4 --epochs 2",
        ),
        (
            "train-cpus",
            &["runs/r"],
            "mpirun -n 2 --bind-to none canopy --threads CORES train --out runs/r --device cpu",
        ),
        (
            "lesson",
            &["04", "4.2"],
            "cargo test --offline --package lesson04 -- 4.2",
        ),
        (
            "build",
            &["--jobs", "2"],
            "cargo build --offline --package canopy --release --features cuda --jobs 2",
        ),
    ] {
        let expected = format!("+ {}\n", expected.replace("CORES", &cores.to_string()));
        assert_eq!(dry_run(name, folder.path(), arguments), (expected, Some(0)));
    }
    assert!(!folder.path().join("runs").exists());
    for wrong in [
        "train-gpu",
        "train-threads 0 runs/r",
        "train-threads 4",
        "lesson",
        "lesson ../04",
        "workshop 99",
        "sweep no-such-file runs",
        "monitor $(id)",
        "grade handed-in",
    ] {
        let mut words = wrong.split(' ');
        let (text, code) = dry_run(words.next().unwrap(), folder.path(), &words.collect::<Vec<_>>());
        assert!(code == Some(2) && text.contains("error: "), "{wrong}: {text}");
    }
}
