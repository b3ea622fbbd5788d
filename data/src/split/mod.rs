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
use groups::{Group, Groups, groups_of};

/// The fractions of records that are not for training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// For validation.
    pub validation: f64,
    /// For the test at the end; 0 leaves this part empty.
    pub test: f64,
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

/// The names of a split's parts.
const PARTS: [&str; 3] = ["train", "validation", "test"];

impl Split {
    /// The parts and their names.
    pub fn parts(&self) -> [(&'static str, &[usize]); 3] {
        let [train, validation, test] = PARTS;
        [
            (train, self.train.as_slice()),
            (validation, self.validation.as_slice()),
            (test, self.test.as_slice()),
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
        validation >= 0.0 && test >= 0.0 && validation + test > 0.0 && train > 0.0,
        "shares of {validation} for validation and {test} for test leave nothing to one part: \
         both must be at least 0, and together above 0 and below 1"
    );
    let shares = [train, validation, test];
    let asked: Vec<usize> = (0..3).filter(|&part| shares[part] > 0.0).collect();
    let (groups, warnings) = groups_of(data, asked.len())?;
    let wanted: Vec<f64> = asked.iter().map(|&part| shares[part]).collect();
    let part_of = assign::assign(&groups, &wanted, Some(0), seed);
    let part = |group: usize| asked[part_of[group]];
    Ok(divided(data, &groups, &asked, part, warnings))
}

/// Fold `fold` of `k`: that fold's plots are for the test, the others for training. The same seed gives the same folds.
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
    let (groups, warnings) = groups_of(data, k)?;
    let part_of = assign::assign(&groups, &vec![1.0 / k as f64; k], None, seed);
    let part = |group: usize| if part_of[group] == fold { 2 } else { 0 };
    Ok(divided(data, &groups, &[0, 2], part, warnings))
}

/// The split in which each group is in the `part` (0 training, 1 validation, 2 test) of its index; `asked` are the parts that
/// should have records.
fn divided(
    data: &Dataset,
    groups: &Groups,
    asked: &[usize],
    part: impl Fn(usize) -> usize,
    mut warnings: Vec<String>,
) -> Split {
    let mut parts = [const { Vec::new() }; 3];
    for (i, group) in groups.list.iter().enumerate() {
        parts[part(i)].extend(&group.records);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    warnings.extend(missing(data, groups, &parts, asked));
    let [train, validation, test] = parts;
    Split {
        train,
        validation,
        test,
        warnings,
    }
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

/// Warns of each species that a part in `asked` lacks, with the reason.
fn missing(data: &Dataset, groups: &Groups, parts: &[Vec<usize>; 3], asked: &[usize]) -> Vec<String> {
    let counts = parts.each_ref().map(|records| species_counts(data, records));
    let mut out = Vec::new();
    for (s, species) in data.species.iter().enumerate() {
        let lacking = asked.iter().filter(|&&part| counts[part][s] == 0);
        let lacking: Vec<&str> = lacking.map(|&part| PARTS[part]).collect();
        if lacking.is_empty() {
            continue;
        }
        let unit = groups.unit;
        let grows = |group: &&Group| group.counts.iter().any(|c| c.0 == s);
        let (places, lacking) = (groups.list.iter().filter(grows).count(), lacking.join(" and "));
        out.push(format!(
            "{species}: none in {lacking}, because it grows on {places} {unit}{}",
            if places == 1 { "" } else { "s" }
        ));
    }
    out
}
