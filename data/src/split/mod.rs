//! Splits of a data set: by plot, stratified by species, by seed.
//!
//! Trees of one plot share site, season and scanner, so a model tested on its own plots looks better than
//! it is (Roberts et al. 2017, "Cross-validation strategies for data with temporal, spatial, hierarchical,
//! or phylogenetic structure"). All scans of a plot, and of a tree, are in the same part.

mod assign;
mod groups;
#[cfg(test)]
mod tests;

use anyhow::{Result, ensure};

use crate::Dataset;
pub use groups::together;
use groups::{Groups, groups_of};

/// The fractions of records that are not for training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// For validation.
    pub validation: f64,
    /// For the test at the end; 0 leaves this part empty.
    pub test: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            validation: 0.25,
            test: 0.0,
        }
    }
}

/// Record indices of each part, ascending. No plot and no tree is in two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// For training.
    pub train: Vec<usize>,
    /// For model selection.
    pub validation: Vec<usize>,
    /// For the reported result.
    pub test: Vec<usize>,
    /// Warnings for the user, such as a species that a part lacks.
    pub warnings: Vec<String>,
}

impl Split {
    /// The parts and their names.
    pub fn parts(&self) -> [(&'static str, &[usize]); 3] {
        [
            ("train", self.train.as_slice()),
            ("validation", self.validation.as_slice()),
            ("test", self.test.as_slice()),
        ]
    }
}

/// Splits by plot so that each species' share in each part is as near to `shares` as whole plots allow,
/// and each species occurs in every part if it grows on enough plots.
///
/// If the set has no plots, or only one, it splits by tree and says so in `warnings`.
///
/// # Errors
/// Returns an error for shares outside 0..1 and for fewer plots or trees than parts.
pub fn by_plot(data: &Dataset, shares: Shares, seed: u64) -> Result<Split> {
    let Shares { validation, test } = shares;
    let train = 1.0 - validation - test;
    ensure!(
        validation > 0.0 && test >= 0.0 && train > 0.0,
        "shares of {validation} for validation and {test} for test leave nothing to one part: \
         validation must be above 0, test at least 0, both together below 1"
    );
    let (groups, mut warnings) = groups_of(data, if test > 0.0 { 3 } else { 2 })?;
    let mut wanted = vec![train, validation];
    if test > 0.0 {
        wanted.push(test);
    }
    let part_of = assign::assign(&groups, &wanted, Some(0), seed);
    let mut parts = collect(&groups, &part_of, 3).into_iter();
    let mut next = || parts.next().unwrap_or_default();
    let mut split = Split {
        train: next(),
        validation: next(),
        test: next(),
        warnings: Vec::new(),
    };
    warnings.extend(missing(data, &groups, &split, test > 0.0));
    split.warnings = warnings;
    Ok(split)
}

/// Fold `fold` of `k`: that fold's plots are for validation, the others for training. The same seed gives the same folds.
///
/// # Errors
/// Returns an error if `k` is below 2 or above the number of plots (of trees, if the set has no plots), or `fold` is not
/// below `k`.
pub fn folds(data: &Dataset, k: usize, fold: usize, seed: u64) -> Result<Split> {
    ensure!(
        k >= 2,
        "{k} folds: at least 2 are needed, one to learn from and one to test on"
    );
    ensure!(fold < k, "fold {fold} of {k}: folds count from 0 to {}", k - 1);
    let (groups, mut warnings) = groups_of(data, k)?;
    let part_of = assign::assign(&groups, &vec![1.0 / k as f64; k], None, seed);
    let mut split = Split::default();
    for (part, records) in collect(&groups, &part_of, k).into_iter().enumerate() {
        if part == fold {
            split.validation = records;
        } else {
            split.train.extend(records);
        }
    }
    split.train.sort_unstable();
    warnings.extend(missing(data, &groups, &split, false));
    split.warnings = warnings;
    Ok(split)
}

/// Weights of the classes from their `counts`: inverse to frequency (King and Zeng 2001, "Logistic regression in
/// rare events data", section 4), scaled to a mean of 1 over the classes that occur; 0 for one that does not.
///
/// Meant for PyTorch's weighted cross-entropy, which divides by the weights' sum.
pub fn class_weights(counts: &[usize]) -> Vec<f32> {
    let inverse: Vec<f64> = counts
        .iter()
        .map(|&n| if n == 0 { 0.0 } else { 1.0 / n as f64 })
        .collect();
    let present = counts.iter().filter(|&&n| n > 0).count().max(1) as f64;
    let mean = inverse.iter().sum::<f64>() / present;
    inverse
        .iter()
        .map(|w| if mean > 0.0 { (w / mean) as f32 } else { 0.0 })
        .collect()
}

/// How many of `records` each species has.
pub fn species_counts(data: &Dataset, records: &[usize]) -> Vec<usize> {
    let mut counts = vec![0; data.species.len()];
    for &r in records {
        counts[data.records[r].species] += 1;
    }
    counts
}

fn collect(groups: &Groups, part_of: &[usize], parts: usize) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); parts];
    for (group, &part) in groups.list.iter().zip(part_of) {
        out[part].extend(&group.records);
    }
    for part in &mut out {
        part.sort_unstable();
    }
    out
}

/// Warns of each species that a part lacks, with the reason.
fn missing(data: &Dataset, groups: &Groups, split: &Split, with_test: bool) -> Vec<String> {
    let asked = if with_test { 3 } else { 2 };
    let counts: Vec<_> = split.parts()[..asked]
        .iter()
        .map(|(name, records)| (*name, species_counts(data, records)))
        .collect();
    let mut out = Vec::new();
    for (s, species) in data.species.iter().enumerate() {
        let lacking: Vec<&str> = counts
            .iter()
            .filter(|(_, c)| c[s] == 0)
            .map(|(n, _)| *n)
            .collect();
        if lacking.is_empty() {
            continue;
        }
        let homes = groups
            .list
            .iter()
            .filter(|g| g.counts.iter().any(|c| c.0 == s))
            .count();
        let why = match homes {
            0 => "the set has none".to_owned(),
            1 => format!("all its records are of one {}", groups.unit),
            n if n < asked => format!("it grows on {n} {}s only", groups.unit),
            n => format!(
                "no way to share out its {n} {}s was found that serves all",
                groups.unit
            ),
        };
        out.push(format!(
            "{species}: none in {}, because {why}",
            lacking.join(" and ")
        ));
    }
    out
}
