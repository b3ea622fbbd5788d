//! `canopy train --engine`: the settings of a DeepSpeed JSON, together with those of the command line.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use super::options::Options;
use crate::{
    shard::{BatchWanted, EngineFile, Zero, settle_batch},
    train::Config,
};

/// Puts the settings of the file at `path` into `config`, which already has the options `given` and the number of ranks.
/// Returns what a user should know of the file.
///
/// # Errors
/// Returns an error if the file cannot be read, or if `given` contradicts it.
pub fn apply(path: &Path, config: &mut Config, given: &Options) -> Result<Vec<String>> {
    let file = EngineFile::read(path)?;
    let name = path.display();
    let mut table = Table::try_from(&*config)?;
    for setting in &file.settings {
        set(
            &mut table,
            given,
            setting.option,
            (&setting.value, &setting.key),
            path,
        )?;
    }
    batch_sizes(&file.batch, &mut table, (config, given), path)?;
    let zero = share(file.zero, &mut table, (config, given), path)?;
    *config = table
        .try_into()
        .with_context(|| format!("{name} has a setting of a wrong type"))?;
    config.validate().with_context(|| {
        format!("{name}: together with the preset and the command line, its settings are not valid")
    })?;
    let notes = file.notes.iter().chain(&zero);
    Ok(notes.map(|note| format!("{name}: {note}")).collect())
}

/// Sets an option to the file's value, unless the user has given another one.
fn set(
    table: &mut Table,
    given: &Options,
    option: &str,
    (value, key): (&Value, &str),
    path: &Path,
) -> Result<()> {
    let old = table.insert(option.to_owned(), value.clone());
    if let Some(old) = old.filter(|old| given.has(option) && old != value) {
        bail!(
            "--{option} is {old}, but {} sets it to {value} ({key}): remove one of them",
            path.display()
        );
    }
    Ok(())
}

/// Settles the batch sizes if the file has one of them. canopy's batch is that of all ranks together.
fn batch_sizes(
    file: &BatchWanted,
    table: &mut Table,
    (config, given): (&Config, &Options),
    path: &Path,
) -> Result<()> {
    if *file == BatchWanted::default() {
        return Ok(());
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
    let whole = |n: usize| i64::try_from(n).map(Value::Integer);
    let batch = (
        &whole(sizes.micro * ranks)?,
        "train_micro_batch_size_per_gpu × ranks",
    );
    set(table, given, "batch", batch, path)?;
    let accumulation = (&whole(sizes.accumulation)?, "gradient_accumulation_steps");
    set(table, given, "accumulate", accumulation, path)
}

/// Sets the stage of ZeRO. One rank has everything at every stage; returns a note that says so.
fn share(
    zero: Zero,
    table: &mut Table,
    (config, given): (&Config, &Options),
    path: &Path,
) -> Result<Option<String>> {
    let Zero {
        stage,
        offload_optimizer,
    } = zero;
    if stage == 0 || config.ranks == 1 {
        return Ok(
            (stage > 0).then(|| format!("zero_optimization.stage {stage} changes nothing with one rank"))
        );
    }
    let stage = (&Value::Integer(stage.into()), "zero_optimization.stage");
    set(table, given, "zero", stage, path)?;
    if offload_optimizer {
        let offload = (&Value::Boolean(true), "zero_optimization.offload_optimizer");
        set(table, given, "offload-optimizer", offload, path)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;
    use crate::{optim::OptimConfig, schedule::Schedule};

    /// The configuration from a file with `json` and the options `words`, and the notes.
    fn applied(json: &str, words: &str) -> Result<(Config, Vec<String>)> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("ds.json");
        std::fs::write(&path, json)?;
        let command = Options::augment_args(Command::new("train").no_binary_name(true));
        let given = Options::from_arg_matches(&command.try_get_matches_from(words.split_whitespace())?)?;
        let mut config = given.over(&Config::default())?;
        let notes = apply(&path, &mut config, &given)?;
        Ok((config, notes))
    }

    fn error(json: &str, words: &str) -> String {
        format!("{:#}", applied(json, words).unwrap_err())
    }

    #[test]
    fn options_fill_what_the_file_leaves_out() {
        let json = r#"{"gradient_clipping": 0.5, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}"#;
        let (config, notes) = applied(json, "--epochs 3 --clip 0.5 --schedule constant").unwrap();
        assert_eq!((config.epochs, config.clip, &*config.optimizer), (3, 0.5, "sgd"));
        assert_eq!(
            (config.learning_rate, config.momentum, config.schedule),
            (0.1, 0.0, Schedule::Constant)
        );
        assert_eq!(config.batch, Config::default().batch);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn an_option_that_contradicts_the_file_is_an_error() {
        let text = error(r#"{"gradient_clipping": 0.5}"#, "--clip 1");
        let parts = ["--clip is 1", "ds.json", "gradient_clipping", "0.5"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        let text = error(r#"{"train_batch_size": 8}"#, "--batch 6");
        assert!(text.contains("multiple of micro 6"), "{text}");
        let text = error(r#"{"train_micro_batch_size_per_gpu": 8}"#, "--batch 6");
        assert!(text.contains("--batch is 6") && text.contains("to 8"), "{text}");
        let adam =
            r#"{"optimizer": {"type": "Adam", "params": {"eps": 1e-8}}, "scheduler": {"type": "WarmupLR"}}"#;
        applied(adam, "--eps 1e-08 --schedule warmuplr:steps=1000").unwrap();
        let text = error(adam, "--eps 1e-07");
        assert!(
            text.contains("--eps is \"1e-7\"") && text.contains("1e-8"),
            "{text}"
        );
        let text = error(r#"{"fp16": {"enabled": true}}"#, "--precision bf16");
        assert!(text.contains("--precision is \"bf16\""), "{text}");
    }

    #[test]
    fn batch_sizes_are_those_of_all_ranks() {
        let sizes = |json, words| {
            let (config, _) = applied(json, words).unwrap();
            (config.batch, config.accumulate)
        };
        assert_eq!(sizes(r#"{"train_batch_size": 16}"#, "--ranks 2"), (16, 1));
        assert_eq!(
            sizes(r#"{"train_batch_size": 16}"#, "--ranks 2 --accumulate 4"),
            (4, 4)
        );
        assert_eq!(sizes(r#"{"train_batch_size": 16}"#, "--batch 4"), (4, 4));
        let micro = r#"{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 3}"#;
        assert_eq!(sizes(micro, "--ranks 2"), (8, 3));
        assert_eq!(sizes(r#"{"gradient_accumulation_steps": 3}"#, ""), (32, 3));
        let text = error(r#"{"train_batch_size": 16}"#, "--ranks 3");
        assert!(text.contains("16") && text.contains("3 ranks"), "{text}");
        let text = error(r#"{"gradient_accumulation_steps": 3}"#, "--ranks 3");
        assert!(text.contains("32 is not a multiple of 3"), "{text}");
    }

    #[test]
    fn every_scheduler_and_optimizer_of_a_file_is_one_that_a_run_can_have() {
        let total = r#""total_num_steps": 2000"#;
        let cycle = r#""cycle_min_lr": 0.1, "cycle_max_lr": 1, "decay_lr_rate": 0.5, "decay_step_size": 3"#;
        for (kind, params) in [
            ("WarmupLR", ""),
            ("WarmupDecayLR", total),
            ("WarmupCosineLR", total),
            ("OneCycle", cycle),
            ("LRRangeTest", ""),
        ] {
            let json = format!(r#"{{"scheduler": {{"type": "{kind}", "params": {{{params}}}}}}}"#);
            let (config, _) = applied(&json, "").unwrap();
            assert_eq!(
                config.warmup, 0.0,
                "the schedule has its own: {}",
                config.schedule
            );
        }
        for kind in ["Adam", "AdamW", "SGD", "Lamb", "Adagrad"] {
            let json = format!(r#"{{"optimizer": {{"type": "{kind}", "params": {{}}}}}}"#);
            let (config, _) = applied(&json, "").unwrap();
            config.optim().unwrap();
        }
        let (config, _) = applied(r#"{"optimizer": {"type": "Adam", "params": {"eps": 1e-7}}}"#, "").unwrap();
        let eps = match config.optim().unwrap() {
            OptimConfig::AdamW(config) => config.eps,
            other => panic!("{other:?}"),
        };
        assert_eq!(eps, 1e-7);
    }

    #[test]
    fn the_stage_of_zero_changes_nothing_with_one_rank() {
        let json = r#"{"zero_optimization": {"stage": 2}}"#;
        let (config, notes) = applied(json, "--ranks 2").unwrap();
        assert_eq!((config.zero, config.offload_optimizer), (2, false));
        assert!(notes.is_empty(), "{notes:?}");
        let text = error(json, "--ranks 2 --zero 1");
        assert!(text.contains("--zero is 1") && text.contains("to 2"), "{text}");
        let (config, notes) = applied(json, "").unwrap();
        assert_eq!(config, Config::default());
        assert!(
            notes[0].contains("stage 2 changes nothing with one rank"),
            "{notes:?}"
        );
        let json = r#"{"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu"}}}"#;
        let (config, _) = applied(json, "--ranks 2").unwrap();
        assert_eq!((config.zero, config.offload_optimizer), (1, true));
    }
}
