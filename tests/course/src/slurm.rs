//! `cargo course slurm render`: job scripts for a cluster, from the templates and the site's settings in `slurm/`.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use minijinja::{
    Environment, Error, ErrorKind, UndefinedBehavior, context, syntax::SyntaxConfig, value::Serde,
};
use toml::{Table, Value};

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

/// The documented settings, with their defaults.
const DEFAULTS: &str = include_str!("../../../slurm/site.toml");
/// The ending of a template that becomes a script; other `.j2` files are included by these.
const ENDING: &str = ".sbatch.j2";
/// What a template calls if the site lacks a setting that it needs.
const NEEDS: &str = "it needs the setting";

/// Prints or writes the scripts.
///
/// # Errors
/// Names the setting, or the template and its line, that is wrong.
pub fn run(root: &Path, Task::Render(options): &Task) -> Result<()> {
    let slurm = root.join("slurm");
    let site = site(&options.site.clone().unwrap_or_else(|| slurm.join("site.toml")))?;
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
        for folder in [out, Path::new(site["logs"].as_str().unwrap_or_default())] {
            fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
        }
    }
    for (name, script) in scripts {
        match (script, &options.out) {
            (Ok(script), Some(out)) => {
                let path = out.join(format!("{name}.sbatch"));
                fs::write(&path, script).with_context(|| format!("{} cannot be written", path.display()))?;
                println!("{}", path.display());
            }
            (Ok(script), None) => print!("{script}"),
            (Err(why), _) => eprintln!("{name}: not rendered, because {why}"),
        }
    }
    Ok(())
}

/// A site's settings: those of its file, and the defaults of the others.
fn site(file: &Path) -> Result<Table> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("{}: the site's settings cannot be read", file.display()))?;
    settings(&text).with_context(|| file.display().to_string())
}

fn settings(text: &str) -> Result<Table> {
    let mut site: Table = DEFAULTS.parse()?;
    for (key, value) in text.parse::<Table>()? {
        let all = site.keys().cloned().collect::<Vec<_>>().join(", ");
        let default = site
            .get(&key)
            .with_context(|| format!("there is no setting {key}; the settings are: {all}"))?;
        let expected = expected(&key, default);
        ensure!(
            value.same_type(default) && is_valid(&key, &value),
            "{key} is {value}; expected {expected}"
        );
        site.insert(key, value);
    }
    Ok(site)
}

fn expected(key: &str, default: &Value) -> String {
    let what = match default {
        _ if key == "launcher" => return "\"mpirun\" or \"srun\"".into(),
        Value::Integer(_) => "a number from 1",
        Value::Array(_) => "a list of words",
        _ => "letters, digits and _.,:@%+/-$ in quotes",
    };
    format!("{what}, such as {default}")
}

/// Whether a value can be a part of a script without changing its other parts.
fn is_valid(key: &str, value: &Value) -> bool {
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.,:@%+/-$".contains(c))
    };
    match value {
        Value::Integer(number) => *number >= 1,
        Value::Array(words) => words
            .iter()
            .all(|word| word.as_str().is_some_and(|word| !word.contains('\n'))),
        Value::String(text) if key == "launcher" => ["mpirun", "srun"].contains(&&**text),
        Value::String(text) if key == "canopy" => !text.is_empty(),
        Value::String(text) => is_plain(text) && (key != "logs" || !text.is_empty()),
        _ => false,
    }
}

/// Renders all templates of the folder `slurm` for a site: the scripts by the name of their template, or why the site cannot have
/// one.
fn scripts(slurm: &Path, site: &Table) -> Result<BTreeMap<String, Result<String, String>>> {
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
        Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("{NEEDS} {key}: {what}"),
        ))
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
                .map_err(|error| explained(&error))?;
        }
    }
    let templates = environment.templates();
    let templates = templates.filter_map(|(file, template)| Some((file.strip_suffix(ENDING)?, template)));
    let render = |(name, template): (&str, minijinja::Template)| {
        let script = match template.render(context!(name, site => Serde(site))) {
            Ok(script) => Ok(script),
            Err(error) => {
                let why = error.detail().filter(|why| why.starts_with(NEEDS));
                Err(why.ok_or_else(|| explained(&error))?.to_owned())
            }
        };
        Ok((name.to_owned(), script))
    };
    templates.map(render).collect()
}

/// A word as bash reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
