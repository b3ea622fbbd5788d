//! FOR-species20K (Puliti et al. 2025, Zenodo 13255198): `dev/` and its metadata; `test/` has no labels.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    csv_file::CsvFile,
    plan::{Damaged, Labelled, Plan},
    walk,
};
use crate::Scan;

/// The table's name.
pub const METADATA: &str = "tree_metadata_dev.csv";

pub fn plan(root: &Path) -> Result<Plan> {
    let path = table(root).with_context(|| format!("{}: {METADATA} is not here", root.display()))?;
    let home = path.parent().unwrap_or(root);
    let mut by_stem: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in labelled_files(home)? {
        by_stem.entry(walk::stem(&path)).or_default().push(path);
    }
    let table = CsvFile::open(&path)?;
    let columns = ["treeID", "species", "dataset", "data_type", "filename"];
    let columns: Vec<usize> = columns.iter().map(|c| table.need(c)).collect::<Result<_>>()?;
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    let mut seen: BTreeMap<String, (u64, String)> = BTreeMap::new();
    table.rows(|place, line, row| {
        let value = |k: usize| row.get(columns[k]).unwrap_or_default();
        let [tree, species, dataset, data_type, filename] = [0, 1, 2, 3, 4].map(value);
        let stem = walk::stem(Path::new(filename));
        ensure!(
            !species.is_empty() && !stem.is_empty(),
            "{place}: species '{species}' or filename '{filename}' is empty"
        );
        if let Some((first, label)) = seen.insert(stem.clone(), (line, species.to_owned())) {
            bail!(
                "{} lines {first} and {line} both name {filename} (as {label} and {species})",
                path.display()
            );
        }
        match by_stem.get(&stem).map(Vec::as_slice) {
            None => missing.push(Damaged {
                path: home.join("dev").join(format!("{stem}.las")),
                why: format!("does not exist (.las or .laz), but {METADATA} line {line} lists it"),
            }),
            Some([path]) => files.push(Labelled {
                source: walk::below(home, path),
                path: path.clone(),
                label: species.to_owned(),
                tree: tree.to_owned(),
                plot: Some(dataset.to_owned()).filter(|d| !d.is_empty()),
                scan: match data_type.to_ascii_uppercase().as_str() {
                    "TLS" => Scan::Tls,
                    "ULS" => Scan::Uls,
                    "ALS" => Scan::Als,
                    _ => Scan::Unknown,
                },
            }),
            Some(paths) => bail!(
                "tree {stem} has {} files, {} and {}: keep one",
                paths.len(),
                paths[0].display(),
                paths[1].display()
            ),
        }
        Ok(())
    })?;
    ensure!(
        !files.is_empty(),
        "no .las or .laz file below {} has a name that is in {METADATA}",
        home.display()
    );
    let unnamed = by_stem.keys().filter(|stem| !seen.contains_key(*stem)).count();
    let mut plan = Plan::of_files("for-species20k".into(), files);
    if unnamed > 0 {
        plan.notes
            .push(format!("{unnamed} files have no row in {METADATA}, left out"));
    }
    plan.missing = missing;
    Ok(plan)
}

/// The metadata, in `root` or one folder below.
pub fn table(root: &Path) -> Option<PathBuf> {
    let folders = std::iter::once(root.to_owned()).chain(walk::folders(root).ok()?);
    folders.map(|f| f.join(METADATA)).find(|p| p.is_file())
}

/// LAS and LAZ files below `home`, without the unlabelled `test/`, whose numbers may be those of other trees.
fn labelled_files(home: &Path) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in walk::entries(home)? {
        if path.is_dir() && !walk::name(&path).eq_ignore_ascii_case("test") {
            out.extend(walk::point_files(&path)?.0);
        } else {
            out.push(path);
        }
    }
    out.retain(|p| walk::has_ending(p, &["las", "laz"]));
    Ok(out)
}
