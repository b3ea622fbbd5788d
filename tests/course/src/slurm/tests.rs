//! Tests of the settings and the templates without a Slurm.

use std::process::Command;

use super::*;

/// The folder of the project's templates.
fn slurm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../slurm")
}

#[test]
fn a_wrong_setting_is_named_with_what_was_expected_and_no_value_adds_a_command() {
    let refused = |text: &str, part: &str| {
        let error = settings(text).unwrap_err().to_string();
        assert!(error.contains(part), "no {part:?} in: {error}");
    };
    refused("patition = 'gpu'", "no setting patition; the settings are:");
    refused("cores = 'many'", "cores is \"many\"; expected a value such as 8");
    refused("cores = 0", "numbers are from 1");
    refused("launcher = 'ssh'", "\"ssh\"; expected \"mpirun\" or \"srun\"");
    refused("logs = ''", "logs must not be empty");
    refused("logs = '/scratch/$USER'", "logs is");
    assert!(settings("scratch = '/scratch/$USER'").is_ok());
    refused("\npartition = 'gpu", "line 2");
    for (key, default) in settings("").unwrap() {
        for mark in [" ", "\n", "(", "{", "`", "\"", "'", ";", "|", "&", "<", "#", "\\"] {
            let text = Value::from(format!("a{mark}id"));
            let value = default.as_array().map_or(text.clone(), |_| vec![text].into());
            refused(&format!("{key} = {value}"), &format!("{key} is"));
        }
    }
}

#[test]
fn a_template_fails_at_a_line_or_says_what_its_site_lacks_and_those_of_the_examples_are_written() {
    let folder = tempfile::tempdir().unwrap();
    for (text, part) in [("{{ site.partitoin }}", "undefined"), ("{% iff %}", "syntax")] {
        let own = folder.path().join("own.sbatch.j2");
        fs::write(own, format!("#!/bin/sh\n{text}\n")).unwrap();
        let error = scripts(folder.path(), &settings("").unwrap()).unwrap_err();
        let error = error.to_string();
        let is_named = error.contains("own.sbatch.j2:2");
        assert!(is_named && error.contains(part), "{error}");
    }
    let of_site = |text: &str| scripts(&slurm(), &settings(text).unwrap()).unwrap();
    let lacks = &of_site("")["train-mig"];
    assert!(lacks.starts_with("the site lacks the setting mig"), "{lacks}");
    for example in fs::read_dir(slurm().join("sites")).unwrap() {
        let site = of_site(&fs::read_to_string(example.unwrap().path()).unwrap());
        assert!(site["train-cpus"].starts_with("#!"));
    }
}

#[test]
fn a_dry_run_prints_the_quoted_command_or_what_is_wrong_with_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in scripts(&slurm(), &settings("").unwrap()).unwrap() {
        fs::write(folder.path().join(name), script).unwrap();
    }
    let dry = |line: &str| {
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("bash \"$OUT\"/{line}")]);
        bash.env("OUT", folder.path()).current_dir(slurm().join(".."));
        bash.env("DRY", "1").env("SLURM_CPUS_PER_TASK", "3");
        for name in ["CANOPY", "DEVICE", "SLURM_JOB_ID"] {
            bash.env_remove(name);
        }
        let output = bash.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (text, output.status.code())
    };
    let command = r"+ canopy --threads 3 train --out a\ run\;\ rm\ -rf\ x --device cuda --data my\ trees";
    let (text, code) = dry("train-gpu 'a run; rm -rf x' --data 'my trees'");
    assert_eq!((text.trim_end(), code), (command, Some(0)));
    for (line, error) in [
        ("train-gpu", "usage: sbatch train-gpu.sbatch RUN [options"),
        ("train-threads 0 runs/r", "'0' is no number of ranks"),
        ("lesson ../04", "there is no lesson '../04'"),
        ("monitor '$(id)'", "'$(id)' is no number of a job"),
    ] {
        let (text, code) = dry(line);
        assert!(code == Some(2) && text.contains(error), "{line}: {text}");
    }
}
