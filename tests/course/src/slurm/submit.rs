//! Submits a template to Slurm.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::{Which, scripts, templates};
use crate::marks::put;

/// Options of `submit`.
#[derive(Args)]
#[command(
    after_help = "Prints the number of the job. Its log is in slurm-logs, and so is the script that was submitted. A template \
    NAME for which there is a NAME-merge is followed by it: the second job starts when the first has ended.\n\n\
    Examples:\n  cargo course slurm submit doctor --wait\n  \
    cargo course slurm submit train-gpu --sbatch=--time=1:00:00 -- runs/oak --preset full\n  \
    cargo course slurm submit sweep -- rates.txt runs/rates --epochs 20\n  \
    cargo course slurm submit grade --wait -- handed-in graded --lesson 01"
)]
pub struct Options {
    /// The template, such as train-gpu
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    which: Which,
    /// Option for sbatch, which overrides the template's; may be repeated: --sbatch=--time=1:00:00
    #[arg(long, value_name = "OPTION")]
    sbatch: Vec<String>,
    /// Wait until the job has ended; the exit code is 1 if it failed
    #[arg(long)]
    wait: bool,
    /// Arguments of the template
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// Submits a template, and the one that follows it. With `--wait`, returns whether the last job succeeded.
///
/// # Errors
/// Returns an error if the site lacks something that the template needs, or if Slurm refuses the job.
pub fn submit(root: &Path, options: &Options) -> Result<bool> {
    let (site, scripts) = scripts(root, &options.which, None)?;
    let script = templates::one(&scripts, &options.name)?;
    let logs = PathBuf::from(&site.logs);
    // Slurm writes no log into a folder that does not exist, and does not say so.
    fs::create_dir_all(&logs).with_context(|| format!("{} cannot be created", logs.display()))?;
    let merge = format!("{}-merge", options.name);
    let job = Job { options, logs: &logs };
    if !scripts.contains_key(&merge) {
        return job.submit(&options.name, script, None, options.wait);
    }
    let first = job.id(&options.name, script)?;
    println!("{first}");
    job.submit(
        &merge,
        templates::one(&scripts, &merge)?,
        Some(&first),
        options.wait,
    )
}

struct Job<'a> {
    options: &'a Options,
    logs: &'a Path,
}

impl Job<'_> {
    /// `sbatch` for a script with options and the user's arguments. Neither passes through a shell.
    fn sbatch(&self, name: &str, script: &str, more: &[String]) -> Result<Command> {
        let path = self.logs.join(format!("{name}.sbatch"));
        put(&path, script)?;
        let mut command = Command::new("sbatch");
        command
            .arg("--parsable")
            .args(&self.options.sbatch)
            .args(more)
            .arg(path)
            .args(&self.options.arguments);
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        clean(&mut command);
        Ok(command)
    }

    /// Submits a script, and returns the number of its job.
    fn id(&self, name: &str, script: &str) -> Result<String> {
        let output = self.sbatch(name, script, &[])?.output().context(NO_SLURM)?;
        ensure!(output.status.success(), "Slurm did not take {name}");
        let text = String::from_utf8_lossy(&output.stdout);
        // With several clusters: `ID;CLUSTER`.
        Ok(text.trim().split(';').next().unwrap_or_default().to_owned())
    }

    /// Submits a script, to start after the job `after` if there is one, and prints its number.
    fn submit(&self, name: &str, script: &str, after: Option<&str>, wait: bool) -> Result<bool> {
        let mut more: Vec<String> = after
            .map(|id| format!("--dependency=afterany:{id}"))
            .into_iter()
            .collect();
        if wait {
            more.push("--wait".into());
        }
        let mut sbatch = self.sbatch(name, script, &more)?;
        let status = sbatch.status().context(NO_SLURM)?;
        // sbatch exits with the job's code after waiting, and with 1 if Slurm refuses.
        ensure!(wait || status.success(), "Slurm did not take {name}");
        if !status.success() {
            eprintln!(
                "cargo course slurm: {name} failed; its log is in {}",
                self.logs.display()
            );
        }
        Ok(status.success())
    }
}

const NO_SLURM: &str = "sbatch could not be started: submit on the login node of a cluster; `cargo course slurm render` needs no Slurm";

/// Removes cargo's variables about this package, which the job would inherit: see `crate::cargo`.
fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(crate::cargo::is_of_a_package) {
            command.env_remove(name);
        }
    }
}
