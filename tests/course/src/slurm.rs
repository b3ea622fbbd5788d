//! `cargo course slurm render`: job scripts for a cluster, from the templates and the site's settings in `slurm/`.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use minijinja::{context, value::Serde};
use toml::{Table, Value};

use crate::marks::{environment, put};

/// Commands of `cargo course slurm`.
#[derive(clap::Subcommand)]
pub enum Task {
    /// Write the job scripts of a site into a folder
    Render(Render),
}

/// Options of `render`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo course slurm render\n  \
    cargo course slurm render --site slurm/sites/a100-mig.toml --out jobs\n  \
    sbatch --time=1:00:00 jobs/train-gpu.sbatch runs/oak --preset full")]
pub struct Render {
    /// The site's settings [default: slurm/site.toml]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Folder for NAME.sbatch; the folder of the jobs' logs is created, too
    #[arg(long, value_name = "DIR", default_value = "jobs")]
    out: PathBuf,
}

/// The documented settings, with their defaults.
const DEFAULTS: &str = include_str!("../../../slurm/site.toml");
/// The ending of a template that becomes a script; other `.j2` files are included by these.
const ENDING: &str = ".sbatch.j2";
/// What a setting may contain besides letters and digits. To bash and Slurm, only `$` is special, and it can only expand a variable.
const PLAIN: &str = "_.,:@%+/=-$";
/// The settings that bash reads. Only these may contain `$`, because Slurm expands no variables.
const OF_BASH: [&str; 4] = ["canopy", "scratch", "modules", "build"];

/// Writes the scripts.
///
/// # Errors
/// Names the setting, or the template and its line, that is wrong.
pub fn run(root: &Path, Task::Render(options): &Task) -> Result<()> {
    let slurm = root.join("slurm");
    let file = options.site.clone().unwrap_or_else(|| slurm.join("site.toml"));
    let text = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let site = settings(&text).with_context(|| file.display().to_string())?;
    // Slurm writes no log into a folder that does not exist, and does not say so.
    let logs = Path::new(site["logs"].as_str().unwrap_or_default());
    fs::create_dir_all(logs).with_context(|| format!("{} cannot be created", logs.display()))?;
    for (name, script) in scripts(&slurm, &site)? {
        let path = options.out.join(format!("{name}.sbatch"));
        // A template prints this for a site that lacks a setting.
        if !script.starts_with("#!") {
            eprintln!("{name}: not written, because {}", script.trim());
            // A script of an earlier site must not remain.
            if path.exists() {
                fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
            }
            continue;
        }
        put(&path, script)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The defaults, with those replaced that `text` sets.
fn settings(text: &str) -> Result<Table> {
    let mut site: Table = DEFAULTS.parse()?;
    for (key, value) in text.parse::<Table>()? {
        let all = site.keys().cloned().collect::<Vec<_>>().join(", ");
        let default = site
            .get(&key)
            .with_context(|| format!("there is no setting {key}; the settings are: {all}"))?;
        let marks = if OF_BASH.contains(&&*key) {
            PLAIN
        } else {
            PLAIN.trim_end_matches('$')
        };
        let is_plain =
            |text: &str| !text.contains(|c: char| !c.is_ascii_alphanumeric() && !marks.contains(c));
        let is_valid = match &value {
            Value::Integer(number) => *number >= 1,
            Value::String(text) => is_plain(text),
            Value::Array(words) => words.iter().all(|word| word.as_str().is_some_and(is_plain)),
            _ => false,
        };
        ensure!(
            value.same_type(default) && is_valid,
            "{key} is {value}; expected a value such as {default}: numbers are from 1, and text may contain letters, digits and {marks}"
        );
        match (&*key, value.as_str()) {
            ("launcher", Some("mpirun" | "srun")) => {}
            ("launcher", _) => bail!("{key} is {value}; expected \"mpirun\" or \"srun\""),
            ("canopy" | "logs" | "time", Some("")) => bail!("{key} must not be empty"),
            _ => {}
        }
        site.insert(key, value);
    }
    Ok(site)
}

/// Renders the templates of the folder `slurm` for a site: the scripts by the name of their template.
fn scripts(slurm: &Path, site: &Table) -> Result<BTreeMap<String, String>> {
    let mut environment = environment()?;
    for entry in fs::read_dir(slurm).with_context(|| format!("{} cannot be listed", slurm.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "j2") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            environment.add_template_owned(name.into_owned(), text)?;
        }
    }
    let mut scripts = BTreeMap::new();
    for (file, template) in environment.templates() {
        if let Some(name) = file.strip_suffix(ENDING) {
            let script = template.render(context!(name, site => Serde(site)))?;
            scripts.insert(name.to_owned(), script);
        }
    }
    Ok(scripts)
}
