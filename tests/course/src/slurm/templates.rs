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
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The project's templates for a site with these settings.
    fn scripts(settings: &str) -> Scripts {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("site.toml");
        fs::write(&file, settings).unwrap();
        let slurm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../slurm");
        render(&slurm, &Site::load(&file).unwrap()).unwrap()
    }

    /// The requests of a script.
    fn requests(scripts: &Scripts, name: &str) -> Vec<String> {
        let lines = one(scripts, name).unwrap().lines();
        lines
            .filter_map(|l| l.strip_prefix("#SBATCH --"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn a_site_sets_the_requests_of_its_jobs() {
        let all = scripts(
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
        let all = scripts("");
        let one = requests(&all, "train-gpu");
        for never in ["partition", "account", "qos", "mail", "reservation"] {
            assert!(!one.iter().any(|r| r.starts_with(never)), "{one:?}");
        }
    }

    #[test]
    fn a_template_that_a_site_cannot_have_says_which_setting_is_missing() {
        let error = one(&scripts(""), "train-mig").unwrap_err().to_string();
        assert!(
            error.contains("train-mig: it needs the setting mig: the gres"),
            "{error}"
        );
        let error = one(&scripts(""), "train_gpu").unwrap_err().to_string();
        assert!(error.contains("nearest one is train-gpu"), "{error}");
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
            let error = render(folder.path(), &site().unwrap()).unwrap_err().to_string();
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
            let output = std::process::Command::new("bash")
                .args(["-c", &script])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    #[test]
    fn every_script_sets_its_requests_first_and_stops_at_its_first_error() {
        for (name, script) in scripts("gpus_per_node = 2\nmig = 'gpu:1g.5gb'\nmodules = ['gcc/13']") {
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
}
