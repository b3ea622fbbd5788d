//! `cargo course slurm`: job scripts for a cluster, from the templates and the site's settings in `slurm/`.

mod check;
mod site;
mod submit;
mod templates;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use site::Site;
use templates::Scripts;

use crate::marks::put;

/// Commands of `cargo course slurm`.
#[derive(Subcommand)]
#[command(
    after_help = "Examples:\n  cargo course slurm check                       are the templates right for slurm/site.toml?\n  \
    cargo course slurm render --only train-gpu     print a job script\n  \
    cargo course slurm submit lesson -- 04         check lesson 04 on a compute node\n  \
    cargo course slurm submit train-gpu -- runs/oak --preset full\n\n\
    Exit codes: 0 done, 1 a check or a job failed, 2 a setting, a template or the call is wrong."
)]
pub enum Task {
    /// Print the job scripts of a site, or write them into a folder
    Render(Render),
    /// Check the job scripts of a site: with bash, with shellcheck, and with Slurm where there is one
    Check(Check),
    /// Submit a template; arguments after `--` go to its program
    Submit(submit::Options),
}

/// Which site.
#[derive(Args)]
struct Which {
    /// The site's settings [default: slurm/site.toml]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

/// Options of `render`.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo course slurm render --only train-gpu\n  \
    cargo course slurm render --site slurm/sites/a100-mig.toml --out jobs\n  \
    sbatch --time=1:00:00 jobs/train-gpu.sbatch runs/oak --preset full   # after mkdir -p slurm-logs")]
pub struct Render {
    #[command(flatten)]
    which: Which,
    /// Render only this template
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Folder for NAME.sbatch [default: print the scripts]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Options of `check`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  cargo course slurm check\n  cargo course slurm check --site slurm/sites/cpu.toml"
)]
pub struct Check {
    #[command(flatten)]
    which: Which,
    /// Check only this template
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// Runs a command. The exit code is 1 if a check or a job failed, 2 if something else is wrong.
pub fn run(root: &Path, task: &Task) -> ExitCode {
    let done = match task {
        Task::Render(options) => render(root, options).map(|()| true),
        Task::Check(options) => {
            scripts(root, &options.which, options.only.as_deref()).and_then(|(_, s)| check::check(&s))
        }
        Task::Submit(options) => submit::submit(root, options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("cargo course slurm: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The settings and the scripts of a site: all, or one.
fn scripts(root: &Path, which: &Which, only: Option<&str>) -> Result<(Site, Scripts)> {
    let slurm = root.join("slurm");
    let site = Site::load(&which.site.clone().unwrap_or_else(|| slurm.join("site.toml")))?;
    let mut scripts = templates::render(&slurm, &site)?;
    if let Some(name) = only {
        templates::one(&scripts, name)?;
        scripts.retain(|other, _| other == name);
    }
    Ok((site, scripts))
}

fn render(root: &Path, options: &Render) -> Result<()> {
    let (_, scripts) = scripts(root, &options.which, options.only.as_deref())?;
    for (name, script) in scripts {
        match (script, &options.out) {
            (Ok(script), Some(out)) => {
                fs::create_dir_all(out).with_context(|| format!("{} cannot be created", out.display()))?;
                let path = out.join(format!("{name}.sbatch"));
                put(&path, script)?;
                println!("{}", path.display());
            }
            (Ok(script), None) => print!("{script}"),
            (Err(why), _) => eprintln!("{name}: not rendered, because {why}"),
        }
    }
    Ok(())
}
