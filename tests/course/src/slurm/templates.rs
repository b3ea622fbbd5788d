//! The templates of `slurm/`, rendered for a site.

use std::{collections::BTreeMap, error::Error as _, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use minijinja::{Environment, Error, UndefinedBehavior, context, syntax::SyntaxConfig, value::Serde};

use super::site::{Lacking, Site, lacks};

/// The ending of a template that becomes a script; other `.j2` files are included by these.
const ENDING: &str = ".sbatch.j2";

/// The scripts of a site by the name of their template, or why the site cannot have it.
pub type Scripts = BTreeMap<String, Result<String, Lacking>>;

/// Renders all templates of the folder `slurm` for a site.
///
/// # Errors
/// Names the template, the line, and what is wrong there.
pub fn render(slurm: &Path, site: &Site) -> Result<Scripts> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    syntax
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    environment.add_filter("quote", |word: String| quoted(&word));
    environment.add_function("fail", |key: String, what: String| lacks(&key, &what));
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
                .map_err(|e| explained(slurm, &e))?;
        }
    }
    let mut scripts = Scripts::new();
    for (file, template) in environment.templates() {
        let Some(name) = file.strip_suffix(ENDING) else {
            continue;
        };
        let script = match template.render(context!(name => name, site => Serde(site))) {
            Ok(script) => Ok(script),
            Err(error) => Err(lacking(&error).ok_or_else(|| explained(slurm, &error))?),
        };
        scripts.insert(name.to_owned(), script);
    }
    ensure!(
        !scripts.is_empty(),
        "{} contains no template *{ENDING}",
        slurm.display()
    );
    Ok(scripts)
}

/// The script of one template.
///
/// # Errors
/// Names the nearest template if there is none of this name, or the setting that the site lacks.
pub fn one<'a>(scripts: &'a Scripts, name: &str) -> Result<&'a str> {
    let Some(script) = scripts.get(name) else {
        let nearest = scripts
            .keys()
            .min_by_key(|k| strsim::damerau_levenshtein(k, name));
        let names: Vec<&str> = scripts.keys().map(String::as_str).collect();
        bail!(
            "there is no template {name}; the nearest one is {}, and all are {}",
            nearest.map_or("none", String::as_str),
            names.join(", ")
        );
    };
    script.as_deref().map_err(|lacking| anyhow!("{name}: {lacking}"))
}

/// What the site lacks, if that is why a template was not rendered.
fn lacking(error: &Error) -> Option<Lacking> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(Lacking(why)) = cause.downcast_ref() {
            return Some(Lacking(why.clone()));
        }
        source = cause.source();
    }
    None
}

/// A template's error with its file and line, and the names that the template may use.
fn explained(slurm: &Path, error: &Error) -> anyhow::Error {
    let file = slurm.join(error.name().unwrap_or_default());
    anyhow!("{}:{}: {error}", file.display(), error.line().unwrap_or_default())
}

/// A word as bash reads it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
