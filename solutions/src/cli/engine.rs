//! `canopy train --engine`: the settings of a DeepSpeed JSON, together with those of the command line.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

use super::options::Options;
use crate::{
    shard::{BatchWanted, EngineFile, settle_batch},
    train::Config,
};

/// Puts the settings of the file at `path` into `config`, which already has the options `given` and the number of ranks.
/// Returns what a user should know of the file.
///
/// # Errors
/// Returns an error if the file cannot be read, or if `given` contradicts it.
pub fn apply(path: &Path, config: &mut Config, given: &Options) -> Result<Vec<String>> {
    let EngineFile {
        mut settings,
        batch,
        mut notes,
    } = EngineFile::read(path)?;
    let name = path.display();
    // One rank has everything at every stage.
    if config.ranks == 1 {
        settings.remove("offload-optimizer");
        if let Some(stage) = settings.remove("zero") {
            notes.push(format!(
                "zero_optimization.stage {stage} changes nothing with one rank"
            ));
        }
    }
    for (option, size) in batch_sizes(&batch, config, given, path)? {
        settings.insert(option.to_owned(), Value::Integer(i64::try_from(size)?));
    }
    let before = Table::try_from(&*config)?;
    let mut table = before.clone();
    table.extend(settings.clone());
    *config = table
        .try_into()
        .with_context(|| format!("{name} has a setting of a wrong type"))?;
    let after = Table::try_from(&*config)?;
    for option in settings.keys().filter(|option| given.has(option)) {
        ensure!(
            before[option] == after[option],
            "--{option} is {}, but {name} sets it to {}: remove one of them",
            before[option],
            after[option]
        );
    }
    config.validate().with_context(|| {
        format!("{name}: together with the preset and the command line, its settings are not valid")
    })?;
    Ok(notes.iter().map(|note| format!("{name}: {note}")).collect())
}

/// The batch sizes of a run, if the file has one of them. canopy's batch is that of all ranks together.
fn batch_sizes(
    file: &BatchWanted,
    config: &Config,
    given: &Options,
    path: &Path,
) -> Result<Vec<(&'static str, usize)>> {
    if *file == BatchWanted::default() {
        return Ok(Vec::new());
    }
    let (batch, ranks) = (config.batch, config.ranks);
    let mut wanted = *file;
    if file.micro.is_none() && (file.train.is_none() || given.has("batch")) {
        ensure!(
            batch.is_multiple_of(ranks),
            "--batch {batch} is not a multiple of {ranks} ranks: the batch sizes of {} need equal shares",
            path.display()
        );
        wanted.micro = Some(batch / ranks);
    }
    if given.has("accumulate") {
        wanted.accumulation = wanted.accumulation.or(Some(config.accumulate));
    }
    let sizes = settle_batch(wanted, ranks).with_context(|| path.display().to_string())?;
    Ok(vec![
        ("batch", sizes.micro * ranks),
        ("accumulate", sizes.accumulation),
    ])
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    /// What the options `words` change and a file with `json` sets, or the first line of an error.
    fn outcome(words: &str, json: &str) -> Result<Vec<String>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ds.json");
        std::fs::write(&path, json).unwrap();
        // The folder has another name in each run.
        let plain = |text: String| text.replace(&path.display().to_string(), "ds.json");
        let first = |error: String| plain(error.lines().next().unwrap().to_owned());
        let command = Options::augment_args(Command::new("train").no_binary_name(true));
        let given = command.try_get_matches_from(words.split_whitespace());
        let given = given.and_then(|matches| Options::from_arg_matches(&matches));
        let given = given.map_err(|error| first(error.to_string()))?;
        let mut config = given.over(&Config::default()).unwrap();
        let notes = apply(&path, &mut config, &given).map_err(|error| first(format!("error: {error:#}")))?;
        let table = Table::try_from(&config).unwrap();
        assert_eq!(table.clone().try_into::<Config>().unwrap(), config, "read back");
        let mut usual = Table::try_from(Config::default()).unwrap();
        for option in EngineFile::parse(json).unwrap().settings.keys() {
            usual.remove(option);
        }
        let changed = table.iter().filter(|(key, value)| usual.get(*key) != Some(value));
        let mut lines: Vec<String> = changed.map(|(key, value)| format!("{key} = {value}")).collect();
        lines.extend(notes.into_iter().map(plain));
        if words.contains("--optimizer") {
            lines.push(format!("{:?}", config.optim().unwrap()));
        }
        Ok(lines)
    }

    /// In the listing, what options and DeepSpeed's JSON give follows them, indented. The variable `CANOPY_WRITE_SETTINGS`
    /// writes it anew.
    #[test]
    fn options_and_files_give_the_listed_settings_notes_and_errors() {
        let listing = include_str!("settings.txt");
        let mut found = String::new();
        for line in listing.lines().filter(|line| !line.starts_with("  ")) {
            found += &format!("{line}\n");
            if line.starts_with(['-', '{']) {
                let (words, json) = line.split_at(line.find('{').unwrap_or(line.len()));
                let json = if json.is_empty() { "{}" } else { json };
                let lines = outcome(words, json).unwrap_or_else(|error| vec![error]);
                found.extend(lines.iter().map(|line| format!("  {line}\n")));
            }
        }
        if std::env::var_os("CANOPY_WRITE_SETTINGS").is_some() {
            std::fs::write("src/cli/settings.txt", &found).unwrap();
        }
        for (found, expected) in found.lines().zip(listing.lines()) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), listing.len());
    }
}
