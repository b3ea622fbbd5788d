//! Reads a plan's clouds in parallel, a few at a time, and passes them on in order.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use super::{
    Kind, Options, idtrees,
    plan::{Damaged, Job, Plan, Tree},
};
use crate::{
    Cloud, TreeRecord,
    formats::{self, Loaded},
    shard,
};

/// Files that are read in parallel have at most this many bytes together, or are one file: bounds the memory.
const BYTES_AT_ONCE: u64 = 64 << 20;
const FILES_AT_ONCE: usize = 64;
/// A message names this many files and counts the others.
const NAMED: usize = 10;

/// Called with the trees read so far and all trees. Its error stops the import.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize) -> Result<()>;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Trees passed on.
    pub trees: usize,
    /// Their points.
    pub points: u64,
    /// Trees left out because they have fewer than `min_points`.
    pub sparse: usize,
    /// Clouds thinned to `max_points`.
    pub thinned: usize,
    /// Clouds without extent. They are passed on too; their files are the records' sources.
    pub degenerate: Vec<Damaged>,
    /// What the headers of LAS and LAZ files say that their points contradict.
    pub warnings: Vec<Damaged>,
    /// Files left out because they could not be read (with `skip_damaged`).
    pub damaged: Vec<Damaged>,
}

/// Reads the clouds of `plan` into `sink`.
///
/// # Errors
/// Returns an error if files are damaged (all in one error, at the end) unless `skip_damaged`, if no tree is left, or
/// the error of `sink` or `progress`.
pub fn run(
    plan: &Plan,
    options: &Options,
    sink: &mut dyn FnMut(TreeRecord, Cloud) -> Result<()>,
    progress: Progress,
) -> Result<Report> {
    let mut report = Report {
        damaged: plan.missing.clone(),
        ..Report::default()
    };
    let (total, mut done) = (plan.trees(), 0);
    let length = |job: &Job| std::fs::metadata(&job.path).map_or(0, |m| m.len());
    let (mut bytes, mut files) = (plan.jobs.first().map_or(0, length), 1);
    let groups = plan.jobs.chunk_by(|_, next| {
        let size = length(next);
        (bytes, files) = (bytes + size, files + 1);
        let fits = bytes <= BYTES_AT_ONCE && files <= FILES_AT_ONCE;
        if !fits {
            (bytes, files) = (size, 1);
        }
        fits
    });
    for jobs in groups {
        let read: Vec<_> = jobs.par_iter().map(|job| read(job, options)).collect();
        for (job, outcome) in jobs.iter().zip(read) {
            done += job.trees.len();
            let path = job.path.clone();
            match outcome {
                Ok((trees, warnings)) => {
                    let warnings = warnings.into_iter().map(|why| Damaged {
                        path: path.clone(),
                        why,
                    });
                    report.warnings.extend(warnings);
                    keep(trees, options, sink, &mut report)?;
                }
                Err(e) => {
                    let why = format!("{e:#}");
                    report.damaged.push(Damaged { path, why });
                }
            }
        }
        progress(done, total)?;
    }
    if !report.damaged.is_empty() && !options.skip_damaged {
        bail!(
            "'{}': {} file(s) could not be read:\n  {}\ndownload them again, or leave them out with `canopy data import … \
             --skip-damaged`",
            plan.name,
            report.damaged.len(),
            first(&report.damaged).join("\n  ")
        );
    }
    ensure!(
        report.trees > 0,
        "'{}': none of {total} trees is left ({} with fewer than {} points, {} damaged files)",
        plan.name,
        report.sparse,
        options.min_points,
        report.damaged.len()
    );
    Ok(report)
}

/// Imports `plan` into the folder `out`, which takes its name only when all is written. Returns the digest too.
///
/// Species of which no tree is left (by `min_points` or damaged files) get no label.
///
/// # Errors
/// Those of [`run()`], and a disk that is full or may not be written to.
pub fn to_shards(
    mut plan: Plan,
    kind: &Kind,
    options: &Options,
    out: &Path,
    progress: Progress,
) -> Result<(Report, String)> {
    let mut sparse = None;
    if options.min_points > 1 || options.skip_damaged {
        // The trees are read twice: first to find the species that trees are left of.
        let mut left = BTreeSet::new();
        let mut survey = |record: TreeRecord, _| {
            left.insert(record.species);
            Ok(())
        };
        sparse = Some(run(&plan, options, &mut survey, &mut |_, _| Ok(()))?.sparse);
        let name = |s: &usize| plan.species[*s].clone();
        let all = 0..plan.species.len();
        let gone: Vec<String> = all.filter(|s| !left.contains(s)).map(|s| name(&s)).collect();
        let left: Vec<String> = left.iter().map(name).collect();
        ensure!(
            options.species.is_empty() || gone.is_empty(),
            "no tree of {} is left with at least {} points; leave it out of --species",
            gone.join(", "),
            options.min_points
        );
        plan.keep(|label| left.iter().any(|l| l == label));
    }
    let meta = shard::Meta {
        name: plan.name.clone(),
        species: plan.species.clone(),
        licence: kind.licence.into(),
        source: kind.source.into(),
    };
    let failed = || format!("{}: cannot write the set", out.display());
    let mut set = shard::Writer::create(out, meta)?;
    let mut store = |record, cloud| set.push(&record, &cloud).with_context(failed);
    let mut report = run(&plan, options, &mut store, progress)?;
    // Trees of species that were left out count too.
    report.sparse = sparse.unwrap_or(report.sparse);
    Ok((report, set.finish().with_context(failed)?))
}

impl Report {
    /// The first warnings, and the number of the others.
    pub fn warnings(&self) -> Vec<String> {
        first(&self.warnings)
    }
}

/// The first of `files`, and the number of the others.
fn first(files: &[Damaged]) -> Vec<String> {
    let mut lines: Vec<String> = files.iter().take(NAMED).map(ToString::to_string).collect();
    if files.len() > NAMED {
        lines.push(format!("and {} more files", files.len() - NAMED));
    }
    lines
}

/// Passes the trees of a file on.
fn keep(
    trees: Trees,
    options: &Options,
    sink: &mut dyn FnMut(TreeRecord, Cloud) -> Result<()>,
    report: &mut Report,
) -> Result<()> {
    for (record, mut cloud) in trees {
        if cloud.len() < options.min_points.max(1) {
            report.sparse += 1;
            continue;
        }
        if let Some(most) = options.max_points.filter(|&most| cloud.len() > most) {
            cloud = cloud.thinned(most, name_seed(&record.source));
            report.thinned += 1;
        }
        if let Err(e) = cloud.check_extent() {
            report.degenerate.push(Damaged {
                path: record.source.clone().into(),
                why: e.to_string(),
            });
        }
        report.trees += 1;
        report.points += cloud.len() as u64;
        sink(record, cloud)?;
    }
    Ok(())
}

/// Seed for thinning a cloud, from its name (FNV-1a): the same on every machine and in every order.
fn name_seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

type Trees = Vec<(TreeRecord, Cloud)>;

/// The trees of a file, and what its header says that its points contradict.
fn read(job: &Job, options: &Options) -> Result<(Trees, Vec<String>)> {
    let Loaded { cloud, warnings, .. } = formats::load(&job.path)?;
    ensure!(!cloud.is_empty(), "{}: has no points", job.path.display());
    let trees = match &job.trees[..] {
        [Tree { record, outlines, .. }] if outlines.is_empty() => vec![(record.clone(), cloud)],
        _ => idtrees::clip(job, &cloud, options.min_height)?,
    };
    Ok((trees, warnings))
}
