//! `cargo course slurm render`: job scripts for a cluster, from the templates and the site's settings in `slurm/`.

mod site;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use minijinja::{
    Environment, Error, ErrorKind, UndefinedBehavior, context, syntax::SyntaxConfig, value::Serde,
};
use site::Site;

use crate::marks::put;

/// Commands of `cargo course slurm`.
#[derive(clap::Subcommand)]
pub enum Task {
    /// Print the job scripts of a site, or write them into a folder
    Render(Render),
}

/// Options of `render`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo course slurm render --only train-gpu\n  \
    cargo course slurm render --site slurm/sites/a100-mig.toml --out jobs\n  \
    sbatch --time=1:00:00 jobs/train-gpu.sbatch runs/oak --preset full")]
pub struct Render {
    /// The site's settings [default: slurm/site.toml]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Render only this template
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Folder for NAME.sbatch; the folder of the jobs' logs is created, too [default: print the scripts]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The ending of a template that becomes a script; other `.j2` files are included by these.
const ENDING: &str = ".sbatch.j2";

/// The scripts of a site by the name of their template, or why the site cannot have it.
type Scripts = BTreeMap<String, Result<String, Lacking>>;

/// Why a template cannot be rendered for a site.
#[derive(Clone, Debug)]
struct Lacking(String);

impl std::fmt::Display for Lacking {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lacking {}

/// Prints or writes the scripts.
///
/// # Errors
/// Names the setting, or the template and its line, that is wrong.
pub fn run(root: &Path, Task::Render(options): &Task) -> Result<()> {
    let slurm = root.join("slurm");
    let site = Site::load(&options.site.clone().unwrap_or_else(|| slurm.join("site.toml")))?;
    let mut scripts = scripts(&slurm, &site)?;
    if let Some(name) = &options.only {
        let all = scripts.keys().cloned().collect::<Vec<_>>().join(", ");
        scripts.retain(|other, _| other == name);
        match scripts.get(name) {
            None => bail!("there is no template {name}; the templates are {all}"),
            Some(Err(why)) => bail!("{name}: {why}"),
            Some(Ok(_)) => {}
        }
    }
    if let Some(out) = &options.out {
        // Slurm writes no log into a folder that does not exist, and does not say so.
        for folder in [out, Path::new(&site.logs)] {
            fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
        }
    }
    for (name, script) in scripts {
        match (script, &options.out) {
            (Ok(script), Some(out)) => {
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

/// Renders all templates of the folder `slurm` for a site.
fn scripts(slurm: &Path, site: &Site) -> Result<Scripts> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    syntax
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    environment.add_filter("quote", |word: &str| quoted(word));
    environment.add_function("fail", |key: &str, what: &str| -> Result<String, Error> {
        let why = format!("it needs the setting {key}: {what}");
        Err(Error::new(ErrorKind::InvalidOperation, why.clone()).with_source(Lacking(why)))
    });
    let explained = |error: &Error| {
        let file = slurm.join(error.name().unwrap_or_default());
        anyhow!("{}:{}: {error}", file.display(), error.line().unwrap_or_default())
    };
    for entry in fs::read_dir(slurm).with_context(|| format!("{} cannot be listed", slurm.display()))? {
        let path = entry?.path();
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if file.ends_with(".j2") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            environment
                .add_template_owned(file, text)
                .map_err(|e| explained(&e))?;
        }
    }
    let mut scripts = Scripts::new();
    for (file, template) in environment.templates() {
        let Some(name) = file.strip_suffix(ENDING) else {
            continue;
        };
        let script = match template.render(context!(name, site => Serde(site))) {
            Ok(script) => Ok(script),
            Err(error) => Err(lacking(&error).ok_or_else(|| explained(&error))?),
        };
        scripts.insert(name.to_owned(), script);
    }
    Ok(scripts)
}

/// What the site lacks, if that is why a template was not rendered.
fn lacking(error: &Error) -> Option<Lacking> {
    let error: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref().cloned())
}

/// A word as bash reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
