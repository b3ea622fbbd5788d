//! A site's settings: `slurm/site.toml`.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use toml::{Spanned, Table};

/// The settings. `slurm/site.toml` says what they mean.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Site {
    partition: String,
    gpu_partition: String,
    account: String,
    qos: String,
    reservation: String,
    mail: String,
    cores: u32,
    memory_gib: u32,
    time: String,
    margin: u32,
    nodes: u32,
    array_tasks: u32,
    gres: String,
    gpus_per_node: u32,
    mig: String,
    modules: Vec<String>,
    canopy: String,
    build: Vec<String>,
    launcher: Launcher,
    scratch: String,
    pub logs: String,
}

/// What starts the processes of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Launcher {
    Mpirun,
    Srun,
}

impl Default for Site {
    fn default() -> Self {
        let empty = String::new;
        Self {
            partition: empty(),
            gpu_partition: empty(),
            account: empty(),
            qos: empty(),
            reservation: empty(),
            mail: empty(),
            cores: 8,
            memory_gib: 32,
            time: "04:00:00".into(),
            margin: 120,
            nodes: 2,
            array_tasks: 4,
            gres: "gpu".into(),
            gpus_per_node: 1,
            mig: empty(),
            modules: Vec::new(),
            canopy: "canopy".into(),
            build: ["--release", "--features", "cuda"].map(String::from).to_vec(),
            launcher: Launcher::Mpirun,
            scratch: empty(),
            logs: "slurm-logs".into(),
        }
    }
}

impl Site {
    /// The settings in a file; those that it leaves out have their defaults.
    ///
    /// # Errors
    /// Names the file, the line, the setting and what was expected; for an unknown setting, the nearest one.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("{}: the site's settings cannot be read", path.display()))?;
        Self::parse(&text, &path.display().to_string())
    }

    fn parse(text: &str, file: &str) -> Result<Self> {
        let known = Table::try_from(Self::default())?;
        // First the names: the error of the second pass would list all settings.
        let given: std::collections::BTreeMap<Spanned<String>, toml::Value> =
            toml::from_str(text).with_context(|| format!("{file} is not valid TOML"))?;
        let line = |key: &Spanned<String>| text[..key.span().start].matches('\n').count() + 1;
        if let Some(key) = given.keys().find(|key| !known.contains_key(key.as_ref())) {
            let nearest = known
                .keys()
                .map(|k| (strsim::damerau_levenshtein(k, key.as_ref()), k));
            let hint = match nearest.min() {
                Some((distance, name)) if distance <= name.len() / 2 => format!("the nearest one is {name}"),
                _ => format!(
                    "the settings are {}",
                    known.keys().cloned().collect::<Vec<_>>().join(", ")
                ),
            };
            bail!(
                "{file}:{}: there is no setting {}; {hint}",
                line(key),
                key.as_ref()
            );
        }
        let site: Self = toml::from_str(text).with_context(|| format!("{file} has an invalid setting"))?;
        for (key, value) in Table::try_from(&site)? {
            if let Err(expected) = valid(&key, &value) {
                let at = given.keys().find(|k| *k.as_ref() == key).map_or(1, line);
                bail!("{file}:{at}: {key} is {value}; expected {expected}");
            }
        }
        Ok(site)
    }
}

/// Checks a value, which will be part of a script.
///
/// # Errors
/// Returns what was expected.
fn valid(key: &str, value: &toml::Value) -> Result<(), &'static str> {
    let of = |text: &str, signs: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
    };
    let check = |fine: bool, expected| if fine { Ok(()) } else { Err(expected) };
    let text = value.as_str().unwrap_or_default();
    match key {
        "time" => check(is_time(text), "a time such as \"04:00:00\" or \"1-12:00:00\""),
        "mig" | "gres" => check(
            of(text, "_.:-"),
            "Slurm's name without a number of GPUs, such as \"gpu:a100\"",
        ),
        "scratch" => check(
            text.is_empty() || text.starts_with(['/', '$']) && of(text, "/_.-$"),
            "an absolute path without spaces, such as \"/local/$USER\"",
        ),
        "logs" => check(!text.is_empty() && of(text, "/_.-"), "a path without spaces"),
        "canopy" => check(!text.is_empty(), "a program"),
        "modules" | "build" => {
            let words = value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(toml::Value::as_str);
            check(
                words.into_iter().all(|w| !w.contains('\n')),
                "words without line breaks",
            )
        }
        "margin" => check(value.as_integer() >= Some(10), "10 seconds or more"),
        "gpus_per_node" | "cores" | "memory_gib" | "nodes" | "array_tasks" => {
            check(value.as_integer() >= Some(1), "1 or more")
        }
        "launcher" => Ok(()),
        _ => check(of(text, "_.,:@%+/-"), "a name without spaces"),
    }
}

/// `HH:MM:SS`, also with days before.
fn is_time(text: &str) -> bool {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let digits = |part: &str| !part.is_empty() && part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = clock.split(':').collect();
    digits(days) && parts.len() == 3 && parts.into_iter().all(digits)
}

/// Refuses a template for a site that lacks something.
///
/// # Errors
/// Always.
pub fn lacks(key: &str, what: &str) -> Result<String, minijinja::Error> {
    let message = format!("it needs the setting {key}: {what}");
    Err(
        minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, message.clone())
            .with_source(Lacking(message)),
    )
}

/// Why a template cannot be rendered for a site.
#[derive(Debug)]
pub struct Lacking(pub String);

impl std::fmt::Display for Lacking {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lacking {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, parts: &[&str]) {
        let error = format!("{:#}", Site::parse(text, "site.toml").unwrap_err());
        for part in parts {
            assert!(error.contains(part), "no {part:?} in: {error}");
        }
    }

    #[test]
    fn the_documented_file_has_every_setting_with_its_default() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../slurm");
        let text = fs::read_to_string(root.join("site.toml")).unwrap();
        let (documented, defaults) = (
            text.parse::<Table>().unwrap(),
            Table::try_from(Site::default()).unwrap(),
        );
        assert_eq!(documented, defaults);
        let mut seen = 0;
        for entry in fs::read_dir(root.join("sites")).unwrap() {
            Site::load(&entry.unwrap().path()).unwrap();
            seen += 1;
        }
        assert_eq!(seen, 4);
    }

    #[test]
    fn an_error_names_the_file_the_line_the_setting_and_what_was_expected() {
        refused(
            "cores = 4\npatition = \"gpu\"\n",
            &["site.toml:2:", "no setting patition", "nearest one is partition"],
        );
        refused("zzz = 1\n", &["site.toml:1:", "the settings are", "scratch"]);
        refused("cores = \"many\"\n", &["site.toml", "line 1", "expected u32"]);
        refused("launcher = \"ssh\"\n", &["line 1", "mpirun"]);
        refused(
            "\n\ntime = \"four hours\"\n",
            &["site.toml:3:", "time is \"four hours\"", "\"04:00:00\""],
        );
        refused("cores = 0\n", &["site.toml:1:", "1 or more"]);
        refused("partition = \"gpu", &["site.toml is not valid TOML", "line 1"]);
    }

    #[test]
    fn a_value_cannot_add_a_line_or_a_command_to_a_script() {
        for key in [
            "partition",
            "account",
            "qos",
            "reservation",
            "mail",
            "gres",
            "mig",
            "logs",
            "scratch",
        ] {
            for value in [
                "a b",
                "/a\\n#SBATCH --uid=0",
                "/$(id)",
                "/a`id`",
                "/a\\\"; id #",
                "/a;id",
            ] {
                refused(
                    &format!("{key} = \"{value}\""),
                    &[&format!("site.toml:1: {key} is")],
                );
            }
        }
    }
}
