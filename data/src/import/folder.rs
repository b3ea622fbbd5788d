//! Any folder of one sub-folder a species. A further level of sub-folders, if there is one, is the plot.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::{
    plan::{Labelled, Plan},
    walk,
};
use crate::{Scan, formats};

pub fn plan(root: &Path) -> Result<Plan> {
    by_species(root, walk::name(root), |folder| Ok(folder.to_owned()))
}

/// Trees of each sub-folder of `root`; `label` turns a sub-folder's name into a species.
pub fn by_species(root: &Path, name: String, label: impl Fn(&str) -> Result<String>) -> Result<Plan> {
    ensure!(root.is_dir(), "{}: is not a folder", root.display());
    let (mut files, mut notes, mut others) = (Vec::new(), Vec::new(), 0);
    for folder in walk::folders(root)? {
        let species = label(&walk::name(&folder))?;
        let (found, strange) = walk::point_files(&folder)?;
        others += strange;
        if found.is_empty() {
            notes.push(format!(
                "{}: no point files ({}), left out",
                folder.display(),
                walk::POINT_FILES.join(", ")
            ));
        }
        for path in found {
            if formats::is_prose(&path) {
                notes.push(format!("{}: text without points, left out", path.display()));
                continue;
            }
            let source = walk::below(root, &path);
            let parent = path.parent().unwrap_or(&folder);
            let plot = (parent != folder).then(|| walk::below(&folder, parent));
            let place = source.rsplit_once('/').map_or("", |(p, _)| p);
            files.push(Labelled {
                tree: format!("{place}/{}", walk::stem(&path)),
                source,
                label: species.clone(),
                plot,
                scan: Scan::Unknown,
                path,
            });
        }
    }
    if files.is_empty() {
        bail!(
            "{}: no sub-folder with point files ({})",
            root.display(),
            walk::POINT_FILES.join(", ")
        );
    }
    one_label_each(&files)?;
    if others > 0 {
        notes.push(format!("{others} files of other kinds left out"));
    }
    let mut plan = Plan::of_files(name, files);
    plan.notes = notes;
    Ok(plan)
}

/// Refuses files with the same bytes and different labels: one label must be wrong.
fn one_label_each(files: &[Labelled]) -> Result<()> {
    let mut by_size: HashMap<u64, Vec<&Labelled>> = HashMap::new();
    for file in files {
        let size = fs::metadata(&file.path).map_or(0, |m| m.len());
        if size > 0 {
            by_size.entry(size).or_default().push(file);
        }
    }
    for same in by_size
        .into_values()
        .filter(|f| f.iter().any(|x| x.label != f[0].label))
    {
        let mut seen: HashMap<[u8; 32], &Labelled> = HashMap::new();
        for file in same {
            // A file that cannot be read is reported when its cloud is read.
            let Ok(bytes) = fs::read(&file.path) else { continue };
            let first = *seen.entry(Sha256::digest(bytes).into()).or_insert(file);
            ensure!(
                first.label == file.label,
                "one file has two labels: {} and {} are the same bytes; remove the wrong one",
                first.source,
                file.source
            );
        }
    }
    Ok(())
}
