//! Whether all processes of a job train the same: a rank with other data, settings or another version is found at the start.

use std::fmt::Write;

use anyhow::{Result, bail};

use crate::{
    parallel::{Collective, gather_json},
    train::Trainer,
};

/// Settings in which ranks may differ: where the data is on their node, and their device.
const OWN: [&str; 2] = ["data", "device"];

/// Compares this rank's start with that of rank 0. Every rank calls it.
///
/// # Errors
/// Returns an error on the ranks that differ, which names the rank and the first difference. The other ranks wait; the
/// program of a rank that fails ends the job.
pub fn check(trainer: &Trainer, link: &dyn Collective) -> Result<()> {
    link.doing("starting, at the comparison of data and settings");
    let mine = text(trainer)?;
    let all = gather_json(link, &mine)?;
    for (own, other) in mine.lines().zip(all[0].lines()) {
        if own != other {
            bail!(
                "rank {} was started differently from rank 0: it has {own}, and rank 0 has {other}. Start all ranks with the \
                 same program, data and options",
                link.rank()
            );
        }
    }
    link.barrier()
}

/// What must be equal on all ranks, a line each.
fn text(trainer: &Trainer) -> Result<String> {
    let progress = &trainer.progress;
    let mut text = format!(
        "version {}\ndata with digest {}\n{} clouds\n",
        env!("CARGO_PKG_VERSION"),
        trainer.data.digest,
        trainer.data.len()
    );
    writeln!(
        text,
        "a start after {} epochs, {} batches and {} steps",
        progress.epoch, progress.batch, progress.step
    )?;
    for (key, value) in toml::Table::try_from(&trainer.config)? {
        if !OWN.contains(&&*key) {
            // A value is one line: line breaks are escaped.
            writeln!(text, "{key} = {value}")?;
        }
    }
    Ok(text)
}
