//! The settings of a run that the command line or a TOML file gives; the others keep their defaults. Also the parser of
//! numeric options.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches, error::ErrorKind, parser::ValueSource};

use crate::train::{Config, OF_A_RESUMED_RUN};

/// Parses a count that must be at least `least`.
pub fn at_least(least: usize) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| match text.parse() {
        Ok(count) if count >= least => Ok(count),
        _ => Err(format!("expected a whole number of at least {least}")),
    }
}

/// Parses a number that must be in range, which NaN is not.
pub fn number(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ if most < 1e6 => Err(format!("expected a number from {least} up to {most}")),
        _ => Err(format!("expected a number from {least} up to {most:e}")),
    }
}

/// Settings as a TOML table with the keys of [`Config`].
#[derive(Clone, Debug, Default)]
pub struct Options(pub toml::Table);

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let config = Config::from_arg_matches(matches)?;
        let table = toml::Table::try_from(config)
            .map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, format!("{e}\n")))?;
        let given =
            |key: &String| matches.value_source(&key.replace('-', "_")) == Some(ValueSource::CommandLine);
        Ok(Self(table.into_iter().filter(|(key, _)| given(key)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        Config::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Config::augment_args(command)
    }
}

impl Options {
    /// The settings in a TOML file.
    ///
    /// # Errors
    /// Names the file, the line, and the setting that is unknown or has an invalid value.
    pub fn from_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let parse = || {
            toml::from_str::<Config>(&text)?;
            toml::from_str(&text).map(Self)
        };
        parse().with_context(|| format!("{} has an invalid setting", path.display()))
    }

    /// `config` with these settings in place of its own.
    ///
    /// # Errors
    /// Returns an error if a value has the wrong type.
    pub fn over(&self, config: &Config) -> Result<Config> {
        let mut table = toml::Table::try_from(config)?;
        table.extend(self.0.clone());
        Ok(table.try_into()?)
    }

    /// These settings with those of `later`, which replace them.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        self.0.extend(later.0.clone());
        self
    }

    /// The number of ranks, if it is given.
    pub fn ranks(&self) -> Option<usize> {
        self.0.get("ranks")?.as_integer()?.try_into().ok()
    }

    /// Whether no setting is given that a resumed run must keep: all but those of ranks and what they share.
    pub fn can_resume(&self) -> bool {
        self.0.keys().all(|key| OF_A_RESUMED_RUN.contains(&&**key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Category;

    fn parsed(words: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::augment_args(Command::new("train").no_binary_name(true));
        Options::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    /// The settings that the options `words` change, or the first line of an error.
    fn outcome(words: &str) -> Result<Vec<String>, String> {
        let first = |error: String| error.lines().next().unwrap().to_owned();
        let words: Vec<&str> = words.split_whitespace().collect();
        let given = parsed(&words).map_err(|error| first(error.to_string()))?;
        let config = given.over(&Config::default()).unwrap();
        config.validate().map_err(|error| format!("error: {error:#}"))?;
        let table = toml::Table::try_from(&config).unwrap();
        assert_eq!(table.clone().try_into::<Config>().unwrap(), config, "read back");
        let usual = toml::Table::try_from(Config::default()).unwrap();
        let changed = table.iter().filter(|(key, value)| usual.get(*key) != Some(value));
        let mut lines: Vec<String> = changed.map(|(key, value)| format!("{key} = {value}")).collect();
        if words.contains(&"--optimizer") {
            lines.push(format!("{:?}", config.optim().unwrap()));
        }
        Ok(lines)
    }

    /// In the listing, what options give follows them, indented. The variable `CANOPY_WRITE_SETTINGS` writes it anew.
    #[test]
    fn options_give_the_listed_settings_and_errors() {
        let listing = include_str!("settings.txt");
        let mut found = String::new();
        for line in listing.lines().filter(|line| !line.starts_with("  ")) {
            found += &format!("{line}\n");
            if line.starts_with('-') {
                let lines = outcome(line).unwrap_or_else(|error| vec![error]);
                found.extend(lines.iter().map(|line| format!("  {line}\n")));
            }
        }
        if std::env::var_os("CANOPY_WRITE_SETTINGS").is_some() {
            fs::write("src/cli/settings.txt", &found).unwrap();
        }
        for (found, expected) in found.lines().zip(listing.lines()) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), listing.len());
    }

    #[test]
    fn every_setting_can_be_given_as_an_option() {
        let full = Config::preset("full").unwrap();
        let table = toml::Table::try_from(&full).unwrap();
        let text = |v: &toml::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        let scalars = table.iter().filter(|(_, v)| !v.is_array());
        let words: Vec<String> = scalars
            .flat_map(|(k, v)| [format!("--{k}"), text(v)])
            .chain(["--species", "oak,ash", "--categories", "scan,season"].map(String::from))
            .collect();
        assert!(parsed(&[]).unwrap().can_resume());
        let options = parsed(&words.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(options.0.len(), table.len());
        let config = options.over(&Config::default()).unwrap();
        let expected = Config {
            species: vec!["oak".into(), "ash".into()],
            categories: vec![Category::Scan, Category::Season],
            ..full
        };
        assert_eq!(config, expected);
    }
}
