//! An import kept as a set of shards.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Kind, Options, Plan, Progress, Report, Sink, run};
use crate::{Cloud, TreeRecord, shard};

/// A set being written, and where.
struct Set<'a>(shard::Writer, &'a Path);

impl Sink for Set<'_> {
    fn push(&mut self, record: TreeRecord, cloud: Cloud) -> Result<()> {
        let written = self.0.push(&record, &cloud);
        written.with_context(|| format!("{}: cannot write the set", self.1.display()))
    }
}

/// Marks the species that trees are left of.
struct Survey(Vec<bool>);

impl Sink for Survey {
    fn push(&mut self, record: TreeRecord, _: Cloud) -> Result<()> {
        self.0[record.species] = true;
        Ok(())
    }
}

/// Imports `plan` into the folder `out`, which takes its name only when all is written. Returns the digest too.
///
/// Species of which no tree is left (by `min_points` or damaged files) get no label.
///
/// # Errors
/// Those of [`run()`], and a disk that is full or may not be written to.
pub fn to_shards(
    mut plan: Plan,
    kind: Kind,
    options: &Options,
    out: &Path,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<(Report, String)> {
    let mut sparse = None;
    if options.min_points > 1 || options.skip_damaged {
        let mut survey = Survey(vec![false; plan.species.len()]);
        sparse = Some(run(&plan, options, &mut survey, &mut |_| Ok(()))?.sparse);
        let gone: Vec<&str> = plan
            .species
            .iter()
            .zip(&survey.0)
            .filter(|(_, left)| !**left)
            .map(|(name, _)| name.as_str())
            .collect();
        ensure!(
            options.species.is_empty() || gone.is_empty(),
            "no tree of {} is left with at least {} points; leave it out of --species",
            gone.join(", "),
            options.min_points
        );
        let kept: Vec<usize> = (0..plan.species.len()).filter(|&s| survey.0[s]).collect();
        plan.renumber(&kept);
    }
    let meta = shard::Meta {
        name: plan.name.clone(),
        species: plan.species.clone(),
        licence: kind.layout().licence.into(),
        source: kind.layout().source.into(),
    };
    let mut set = Set(shard::Writer::create(out, meta)?, out);
    let mut report = run(&plan, options, &mut set, progress)?;
    // Trees of species that the survey left out count too.
    report.sparse = sparse.unwrap_or(report.sparse);
    let digest = set
        .0
        .finish()
        .with_context(|| format!("{}: cannot finish the set", out.display()))?;
    Ok((report, digest))
}
