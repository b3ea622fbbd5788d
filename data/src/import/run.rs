//! Reads a plan's clouds in parallel, a few at a time, and passes them on in order.

use std::fs;

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;

use super::{
    Options, idtrees,
    plan::{Damaged, Job, Plan, Tree},
};
use crate::{Cloud, TreeRecord, formats, sample};

/// Files that are read in parallel have at most this many bytes together (or are one file): bounds the memory.
const BYTES_AT_ONCE: u64 = 64 << 20;
const JOBS_AT_ONCE: usize = 64;
/// A message names this many files and counts the others.
const NAMED: usize = 10;

/// Receives the trees of an import, in order.
pub trait Sink {
    /// Receives one tree.
    ///
    /// # Errors
    /// Returns an error if it cannot be stored.
    fn push(&mut self, record: TreeRecord, cloud: Cloud) -> Result<()>;
}

impl Sink for Vec<(TreeRecord, Cloud)> {
    fn push(&mut self, record: TreeRecord, cloud: Cloud) -> Result<()> {
        Vec::push(self, (record, cloud));
        Ok(())
    }
}

/// Progress of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Trees read so far.
    pub done: usize,
    /// All trees.
    pub total: usize,
}

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

/// Reads the clouds of `plan` into `sink`. `progress` is called after each group of files; its error stops the import.
///
/// # Errors
/// Returns an error if files are damaged (all in one error, at the end) unless `skip_damaged`, if no tree is left, or
/// the error of `sink` or `progress`.
pub fn run(
    plan: &Plan,
    options: &Options,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Report> {
    let mut report = Report {
        damaged: plan.missing.clone(),
        ..Report::default()
    };
    let total = plan.trees();
    let mut done = 0;
    for jobs in groups(&plan.jobs) {
        let read: Vec<_> = jobs.par_iter().map(|job| (job, read(job, options))).collect();
        for (job, outcome) in read {
            done += job.trees.len();
            match outcome {
                Ok((trees, warnings)) => {
                    let warning = |why| Damaged {
                        path: job.path.clone(),
                        why,
                    };
                    report.warnings.extend(warnings.into_iter().map(warning));
                    keep(trees, options, sink, &mut report)?;
                }
                Err(e) => report.damaged.push(Damaged {
                    path: job.path.clone(),
                    why: format!("{e:#}"),
                }),
            }
        }
        progress(Progress { done, total })?;
    }
    if !report.damaged.is_empty() && !options.skip_damaged {
        bail!(damaged_text(&report.damaged, &plan.name));
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

impl Report {
    /// The first warnings, and the number of the others.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .warnings
            .iter()
            .take(NAMED)
            .map(ToString::to_string)
            .collect();
        if self.warnings.len() > NAMED {
            lines.push(format!("{} more such files", self.warnings.len() - NAMED));
        }
        lines
    }
}

/// Names the first damaged files, counts them all, and says what to do.
fn damaged_text(damaged: &[Damaged], name: &str) -> String {
    let mut text = format!("'{name}': {} file(s) could not be read:", damaged.len());
    for d in damaged.iter().take(NAMED) {
        text += &format!("\n  {d}");
    }
    if damaged.len() > NAMED {
        text += &format!("\n  and {} more", damaged.len() - NAMED);
    }
    text + "\ndownload them again, or leave them out with `canopy data import … --skip-damaged`"
}

fn keep(trees: Trees, options: &Options, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
    for (record, mut cloud) in trees {
        if cloud.len() < options.min_points.max(1) {
            report.sparse += 1;
            continue;
        }
        if let Some(most) = options.max_points.filter(|&most| cloud.len() > most) {
            let mut kept = sample::random(cloud.len(), most, name_seed(&record.source));
            kept.sort_unstable();
            cloud = cloud.select(&kept);
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
        sink.push(record, cloud)?;
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
    let mut reader = formats::open(&job.path)?;
    let cloud = reader.read_all()?;
    ensure!(!cloud.is_empty(), "{}: has no points", job.path.display());
    let trees = match &job.trees[..] {
        [Tree { record, crown: None }] => vec![(record.clone(), cloud)],
        _ => idtrees::clip(job, &cloud, options.min_height)?,
    };
    Ok((trees, reader.warnings()))
}

/// Divides `jobs` into groups of bounded size.
fn groups(jobs: &[Job]) -> Vec<&[Job]> {
    let mut out = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (i, job) in jobs.iter().enumerate() {
        let size = fs::metadata(&job.path).map_or(0, |m| m.len());
        if i > start && (bytes + size > BYTES_AT_ONCE || i - start == JOBS_AT_ONCE) {
            out.push(&jobs[start..i]);
            (start, bytes) = (i, 0);
        }
        bytes += size;
    }
    if start < jobs.len() {
        out.push(&jobs[start..]);
    }
    out
}
