//! Files that need each other: groups within which every file uses items of every other, directly or through others.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{graph::mentioned, source::Sources};

type Edges<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// The groups of files that use each other in a circle, sorted. Tests and imports that nothing uses do not count.
pub fn circles(sources: &Sources) -> Vec<Vec<&Path>> {
    let edges = edges(sources);
    let below: BTreeMap<&Path, BTreeSet<&Path>> = edges
        .keys()
        .map(|&file| (file, reachable(&edges, file)))
        .collect();
    let mut groups = BTreeSet::new();
    for (&file, files) in &below {
        let circle: Vec<&Path> = files
            .iter()
            .copied()
            .filter(|other| below.get(other).is_some_and(|b| b.contains(file)))
            .collect();
        if circle.len() > 1 {
            groups.insert(circle);
        }
    }
    groups.into_iter().collect()
}

/// For each file, the other files whose items its own items mention. A module's root file (`mod.rs`, or `trace.rs` beside
/// the folder `trace`) belongs to all files of its folder: they may use it, and it may use them.
fn edges(sources: &Sources) -> Edges<'_> {
    let mut edges = Edges::new();
    for (id, item) in sources.items.iter().enumerate() {
        let from = item.file.as_path();
        let to = edges.entry(from).or_default();
        let files = mentioned(sources, id).into_iter();
        let files = files.map(|m| sources.items[m].file.as_path());
        to.extend(files.filter(|file| *file != from && !is_root_of(file, from)));
    }
    edges
}

/// Whether `root` is the root file of a module that `file` is a part of.
fn is_root_of(root: &Path, file: &Path) -> bool {
    let in_folder = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .any(|name| root.ends_with(name));
    let folder = match root.parent() {
        Some(parent) if in_folder => parent.to_owned(),
        _ => root.with_extension(""),
    };
    file.starts_with(folder)
}

/// The files that `from` reaches by one edge or more.
fn reachable<'a>(edges: &Edges<'a>, from: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Path> = edges[from].iter().copied().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(edges.get(file).into_iter().flatten());
        }
    }
    reached
}
