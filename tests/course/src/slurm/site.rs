//! A site's settings: `slurm/site.toml`.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use toml::Table;

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
    /// Names the file, the setting and what was expected.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("{}: the site's settings cannot be read", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let site: Self = toml::from_str(text)?;
        for (key, value) in Table::try_from(&site)? {
            if let Err(expected) = valid(&key, &value) {
                bail!("{key} is {value}; expected {expected}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, parts: &[&str]) {
        let error = format!("{:#}", Site::parse(text).unwrap_err());
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
    fn an_error_names_the_setting_and_what_was_expected() {
        for (text, parts) in [
            (
                "cores = 4\npatition = \"gpu\"\n",
                &["line 2", "patition", "`partition`"][..],
            ),
            ("cores = \"many\"\n", &["line 1", "expected u32"]),
            ("launcher = \"ssh\"\n", &["line 1", "mpirun"]),
            (
                "time = \"four hours\"\n",
                &["time is \"four hours\"", "\"04:00:00\""],
            ),
            ("cores = 0\n", &["cores is 0", "1 or more"]),
            ("partition = \"gpu", &["line 1"]),
        ] {
            refused(text, parts);
        }
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
                refused(&format!("{key} = \"{value}\""), &[&format!("{key} is")]);
            }
        }
    }
}
