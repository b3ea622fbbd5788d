//! Groups that a split must not divide: plots, and trees that were scanned on several plots.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, ensure};

use crate::Dataset;

/// Records that must be in the same part.
#[derive(Debug, Default)]
pub struct Group {
    /// Indices of records, ascending.
    pub records: Vec<usize>,
    /// (species, records of it), each species once, ascending.
    pub counts: Vec<(usize, usize)>,
}

/// All groups of a set.
#[derive(Debug)]
pub struct Groups {
    /// In order of their first record.
    pub list: Vec<Group>,
    /// What they are, for messages: `plot` or `tree`.
    pub unit: &'static str,
    /// How many species the set has.
    pub species: usize,
}

/// The groups of `data`, at least `parts` of them, and a warning if they had to be trees.
///
/// # Errors
/// Returns an error for an empty set, or too few groups.
pub fn groups_of(data: &Dataset, parts: usize) -> Result<(Groups, Vec<String>)> {
    ensure!(
        !data.is_empty(),
        "the data set '{}' has no records to split",
        data.name
    );
    let (name, species) = (&data.name, data.species.len());
    let (trees, plots) = (merge(data, false), merge(data, true));
    let by_tree = if plots.len() == 1 && trees.len() > 1 {
        Some("has one plot")
    } else if plots.len() == trees.len() {
        Some("names no plots that hold several trees")
    } else {
        None
    };
    let warning = |why| format!("'{name}' {why}: split by tree, so neighbours may stand on both sides");
    let warnings = by_tree.map(warning).into_iter().collect();
    let (list, unit) = match by_tree {
        Some(_) => (trees, "tree"),
        None => (plots, "plot"),
    };
    let (count, plural) = (list.len(), if list.len() == 1 { "" } else { "s" });
    ensure!(
        count >= parts,
        "'{name}' has {count} {unit}{plural}: too few for {parts} parts, of which each needs one"
    );
    Ok((Groups { list, unit, species }, warnings))
}

/// Groups of records with the same tree or, `with_plots`, the same plot.
fn merge(data: &Dataset, with_plots: bool) -> Vec<Group> {
    let trees: Vec<&str> = data.records.iter().map(|r| r.tree.as_str()).collect();
    let plots: Vec<&str> = data.records.iter().map(|r| r.plot.as_str()).collect();
    let mut list: Vec<Group> = Vec::new();
    let group_of = together(&trees, if with_plots { &plots } else { &[] });
    for (i, group) in group_of.into_iter().enumerate() {
        list.resize_with(list.len().max(group + 1), Group::default);
        list[group].records.push(i);
    }
    for group in &mut list {
        let mut counts = BTreeMap::new();
        for &r in &group.records {
            *counts.entry(data.records[r].species).or_insert(0) += 1;
        }
        group.counts = counts.into_iter().collect();
    }
    list
}

/// The group of each record: the connected components of records that share a tree or a plot. An empty plot name is not a
/// plot. Groups are numbered from 0 in the order of their first record.
///
/// By union-find (Galler and Fischer 1964, "An improved equivalence algorithm").
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let n = trees.len();
    let mut parent: Vec<usize> = (0..n).collect();
    let mut first: HashMap<(bool, &str), usize> = HashMap::new();
    for i in 0..n {
        let plot = plots.get(i).copied().filter(|plot| !plot.is_empty());
        for name in [Some((true, trees[i])), plot.map(|p| (false, p))]
            .into_iter()
            .flatten()
        {
            let other = *first.entry(name).or_insert(i);
            let (a, b) = (root(&mut parent, i), root(&mut parent, other));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut number: HashMap<usize, usize> = HashMap::new();
    (0..n)
        .map(|i| {
            let next = number.len();
            *number.entry(root(&mut parent, i)).or_insert(next)
        })
        .collect()
}

fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}
