//! Any folder of one sub-folder a species. A further level of sub-folders, if there is one, is the plot.
//!
//! STPCTLS (Seidel et al. 2021, doi 10.25625/FOHUJM) is such a folder: 691 trees by terrestrial laser scanner, with German
//! names and without plots.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::{
    Options,
    plan::{Job, Plan, Tree},
    walk,
};
use crate::{Scan, TreeRecord, formats};

/// The folders of STPCTLS and our names.
const SPECIES: [(&str, &str); 7] = [
    ("Buche", "European beech"),
    ("Douglasie", "Douglas fir"),
    ("Eiche", "oak"),
    ("Esche", "ash"),
    ("Fichte", "Norway spruce"),
    ("Kiefer", "Scots pine"),
    ("Roteiche", "red oak"),
];

/// The English name of a folder of STPCTLS.
fn english(folder: &str) -> Option<&'static str> {
    let german = folder.trim();
    let found = SPECIES.iter().find(|s| s.0.eq_ignore_ascii_case(german));
    found.map(|s| s.1)
}

/// Whether `path` has at least two sub-folders, all of STPCTLS.
pub fn is_stpctls(path: &Path) -> bool {
    let folders = walk::folders(path).unwrap_or_default();
    folders.len() >= 2 && folders.iter().all(|f| english(&walk::name(f)).is_some())
}

/// Whether a sub-folder has point files, or cannot be read, which the plan will report.
pub fn has_point_files(path: &Path) -> bool {
    let folders = walk::folders(path).unwrap_or_default();
    let mut found = folders.iter().map(|f| walk::point_files(f));
    found.any(|found| found.map_or(true, |(files, _)| !files.is_empty()))
}

pub fn stpctls(root: &Path, _: &Options) -> Result<Plan> {
    let mut plan = by_species(root, "stpctls".into(), |name| {
        let known = SPECIES.map(|s| s.0).join(", ");
        let unknown = format!(
            "unknown label: folder '{name}' is none of {known}; import it as `folder` if it is your own"
        );
        Ok(english(name).context(unknown)?.to_owned())
    })?;
    for tree in plan.jobs.iter_mut().flat_map(|job| &mut job.trees) {
        // Folders below a species, if any, are not plots.
        tree.record.plot.clone_from(&tree.record.tree);
        tree.record.scan = Scan::Tls;
    }
    let note = "the set names no plots: each tree is its own";
    plan.notes.push(note.into());
    Ok(plan)
}

pub fn plan(root: &Path, _: &Options) -> Result<Plan> {
    by_species(root, walk::name(root), |folder| Ok(folder.to_owned()))
}

/// Trees of each sub-folder of `root`; `label` turns a sub-folder's name into a species.
fn by_species(root: &Path, name: String, label: impl Fn(&str) -> Result<String>) -> Result<Plan> {
    ensure!(root.is_dir(), "{}: is not a folder", root.display());
    let kinds = walk::POINT_FILES.join(", ");
    let (mut files, mut notes, mut others) = (Vec::new(), Vec::new(), 0);
    for folder in walk::folders(root)? {
        let species = label(&walk::name(&folder))?;
        let (found, strange) = walk::point_files(&folder)?;
        others += strange;
        if found.is_empty() {
            let at = folder.display();
            notes.push(format!("{at}: no point files ({kinds}), left out"));
        }
        for path in found {
            if formats::is_prose(&path) {
                notes.push(format!("{}: text without points, left out", path.display()));
                continue;
            }
            let source = walk::below(root, &path);
            let parent = path.parent().unwrap_or(&folder);
            let place = source.rsplit_once('/').map_or("", |(p, _)| p);
            let record = TreeRecord {
                tree: format!("{place}/{}", walk::stem(&path)),
                plot: walk::below(&folder, parent),
                source,
                ..TreeRecord::default()
            };
            files.push(Job::file(path, species.clone(), record));
        }
    }
    ensure!(
        !files.is_empty(),
        "{}: no sub-folder with point files ({kinds})",
        root.display()
    );
    one_label_each(&files)?;
    if others > 0 {
        notes.push(format!("{others} files of other kinds left out"));
    }
    let mut plan = Plan::new(name, files);
    plan.notes = notes;
    Ok(plan)
}

/// Refuses files with the same bytes and different labels: one label must be wrong.
fn one_label_each(files: &[Job]) -> Result<()> {
    let mut by_size: HashMap<u64, Vec<&Job>> = HashMap::new();
    for file in files {
        let size = fs::metadata(&file.path).map_or(0, |m| m.len());
        by_size.entry(size).or_default().push(file);
    }
    by_size.retain(|&size, same| size > 0 && same.iter().any(|f| f.trees[0].label != same[0].trees[0].label));
    for same in by_size.into_values() {
        let mut seen: HashMap<[u8; 32], &Tree> = HashMap::new();
        for file in same {
            // A file that cannot be read is reported when its cloud is read.
            let Ok(bytes) = fs::read(&file.path) else { continue };
            let tree = &file.trees[0];
            let first = *seen.entry(Sha256::digest(bytes).into()).or_insert(tree);
            ensure!(
                first.label == tree.label,
                "one file has two labels: {} and {} are the same bytes; remove the wrong one",
                first.record.source,
                tree.record.source
            );
        }
    }
    Ok(())
}
