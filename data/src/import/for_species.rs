//! FOR-species20K (Puliti et al. 2025, Zenodo 13255198): `dev/` and its metadata; `test/` has no labels.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    plan::{Damaged, Labelled, Plan},
    walk,
};
use crate::Scan;

/// The table's name.
pub const METADATA: &str = "tree_metadata_dev.csv";

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "treeID")]
    tree: String,
    species: String,
    dataset: String,
    data_type: String,
    filename: String,
}

pub fn plan(root: &Path) -> Result<Plan> {
    let table = table(root).with_context(|| format!("{}: {METADATA} is not here", root.display()))?;
    let home = table.parent().unwrap_or(root);
    let mut by_stem: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in labelled_files(home)? {
        by_stem.entry(walk::stem(&path)).or_default().push(path);
    }
    let mut files = Vec::new();
    let mut missing = Vec::new();
    let mut seen: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut rows = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(&table)
        .with_context(|| table.display().to_string())?;
    for (i, row) in rows.deserialize::<Row>().enumerate() {
        let line = i + 2;
        let row = row.with_context(|| {
            format!(
                "{} line {line}: expected columns treeID, species, dataset, data_type, filename",
                table.display()
            )
        })?;
        let stem = walk::stem(Path::new(&row.filename));
        ensure!(
            !row.species.is_empty() && !stem.is_empty(),
            "{} line {line}: species '{}' or filename '{}' is empty",
            table.display(),
            row.species,
            row.filename
        );
        if let Some((first, label)) = seen.insert(stem.clone(), (line, row.species.clone())) {
            anyhow::bail!(
                "{} lines {first} and {line} both name {} (as {label} and {})",
                table.display(),
                row.filename,
                row.species
            );
        }
        let Some(paths) = by_stem.get(&stem) else {
            missing.push(Damaged {
                path: home.join("dev").join(format!("{stem}.las")),
                why: format!("does not exist (.las or .laz), but {METADATA} line {line} lists it"),
            });
            continue;
        };
        ensure!(
            paths.len() == 1,
            "tree {stem} has {} files, {} and {}: keep one",
            paths.len(),
            paths[0].display(),
            paths[1].display()
        );
        files.push(Labelled {
            source: walk::below(home, &paths[0]),
            path: paths[0].clone(),
            label: row.species,
            tree: row.tree,
            plot: Some(row.dataset).filter(|d| !d.is_empty()),
            scan: scan(&row.data_type),
        });
    }
    ensure!(
        !files.is_empty(),
        "no .las or .laz file below {} bears a name in {METADATA}",
        home.display()
    );
    let unnamed: Vec<_> = by_stem
        .iter()
        .filter(|(stem, _)| !seen.contains_key(*stem))
        .collect();
    let mut plan = Plan::of_files("for-species20k".into(), files);
    if !unnamed.is_empty() {
        plan.notes.push(format!(
            "{} files have no row in {METADATA}, left out",
            unnamed.len()
        ));
    }
    plan.missing = missing;
    Ok(plan)
}

/// The metadata, in `root` or one folder below.
pub fn table(root: &Path) -> Option<PathBuf> {
    let here = root.join(METADATA);
    if here.is_file() {
        return Some(here);
    }
    let below = walk::folders(root).ok()?;
    below.into_iter().map(|f| f.join(METADATA)).find(|p| p.is_file())
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

fn scan(data_type: &str) -> Scan {
    match data_type.to_ascii_uppercase().as_str() {
        "TLS" => Scan::Tls,
        "ULS" => Scan::Uls,
        "ALS" => Scan::Als,
        _ => Scan::Unknown,
    }
}
