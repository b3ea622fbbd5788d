//! Groups of records, each united in another wrong way.

use std::collections::HashMap;

use super::numbered;

/// Whether two records belong together directly.
fn direct(trees: &[&str], plots: &[&str], i: usize, j: usize) -> bool {
    trees[i] == trees[j] || (!plots[i].is_empty() && plots[i] == plots[j])
}

/// The first record of the tree of each record, and of its plot.
fn firsts(trees: &[&str], plots: &[&str]) -> Vec<(usize, Option<usize>)> {
    let (mut of_tree, mut of_plot) = (HashMap::new(), HashMap::new());
    let mut of = |i: usize| {
        let tree = *of_tree.entry(trees[i]).or_insert(i);
        let plot = (!plots[i].is_empty()).then(|| *of_plot.entry(plots[i]).or_insert(i));
        (tree, plot)
    };
    (0..trees.len()).map(&mut of).collect()
}

fn root(parent: &[usize], mut i: usize) -> usize {
    while parent[i] != i {
        i = parent[i];
    }
    i
}

/// The record itself is hung under the first of its tree, and then under the first of its plot.
pub fn hung(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let firsts = firsts(trees, plots);
    let parent: Vec<usize> = firsts.iter().map(|&(tree, plot)| plot.unwrap_or(tree)).collect();
    (0..trees.len()).map(|i| root(&parent, i)).collect()
}

/// The parent of each record in a union-find, whether or not it is a root.
pub fn parents(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..trees.len()).collect();
    for (i, (tree, plot)) in firsts(trees, plots).into_iter().enumerate() {
        for other in [Some(tree), plot].into_iter().flatten() {
            let (a, b) = (root(&parent, i), root(&parent, other));
            parent[a.max(b)] = a.min(b);
        }
    }
    parent
}

/// Moves the group of j to that of i, by a number that changes meanwhile.
pub fn relabelled(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let n = trees.len();
    let mut group: Vec<usize> = (0..n).collect();
    for i in 0..n {
        for j in (0..i).filter(|&j| direct(trees, plots, i, j)) {
            for k in 0..n {
                if group[k] == group[j] {
                    group[k] = group[i];
                }
            }
        }
    }
    numbered(&group)
}

/// The least number of its tree and of its plot goes to each record, in so many rounds.
pub fn passed_on(trees: &[&str], plots: &[&str], rounds: usize) -> Vec<usize> {
    let n = trees.len();
    let mut group: Vec<usize> = (0..n).collect();
    for _ in 0..rounds {
        let least = |i: usize| {
            (0..n)
                .filter(|&j| direct(trees, plots, i, j))
                .map(|j| group[j])
                .min()
        };
        group = (0..n).map(|i| least(i).unwrap_or(i)).collect();
    }
    group
}

/// The least number goes along the plots once, along the trees once, and along the plots again.
pub fn by_plot_by_tree(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let n = trees.len();
    let mut group: Vec<usize> = (0..n).collect();
    for names in [plots, trees, plots] {
        for i in 0..n {
            for j in (0..n).filter(|&j| !names[i].is_empty() && names[i] == names[j]) {
                group[i] = group[i].min(group[j]);
            }
        }
    }
    group
}
