//! Tables of file and label, with optional columns for plot and tree.
//!
//! FOR-species20K (Puliti et al. 2025, Zenodo 13255198) is one: `tree_metadata_dev.csv` names the files of `dev/`; those of
//! `test/` have no labels.

use std::{
    collections::HashMap,
    iter,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Options,
    csv_file::CsvFile,
    plan::{Damaged, Labelled, Plan},
    walk,
};
use crate::{Scan, TreeRecord};

/// The table that a folder may have.
pub const LABELS: &str = "labels.csv";
/// The table of FOR-species20K.
const METADATA: &str = "tree_metadata_dev.csv";

const FILE: [&str; 5] = ["file", "filename", "path", "cloud", "file_name"];
const LABEL: [&str; 5] = ["label", "species", "class", "taxon", "taxonid"];
const PLOT: [&str; 3] = ["plot", "site", "plotid"];
const TREE: [&str; 4] = ["tree", "treeid", "tree_id", "tree_name"];

/// The index of each column.
struct Columns {
    file: usize,
    label: usize,
    plot: Option<usize>,
    tree: Option<usize>,
    scan: Option<usize>,
}

/// A CSV, or `labels.csv` in a folder.
pub fn plan(path: &Path, options: &Options) -> Result<Plan> {
    let table = if path.is_dir() {
        path.join(LABELS)
    } else {
        path.to_owned()
    };
    ensure!(
        table.is_file(),
        "{}: is a folder without {LABELS}; expected the path of a CSV",
        path.display()
    );
    let home = table.parent().unwrap_or(Path::new("."));
    let table = CsvFile::open(&table)?;
    let optional = |wanted: &Option<String>, usual: &[&str]| match wanted {
        Some(name) => table.need(&[name], "").map(Some),
        None => Ok(table.column(usual)),
    };
    let required = |wanted: &Option<String>, usual: &[&str], option: &str| match wanted {
        Some(name) => table.need(&[name], ""),
        None => table.need(usual, &format!("; name it with {option}")),
    };
    let wanted = &options.columns;
    let columns = Columns {
        file: required(&wanted.file, &FILE, "--file-column")?,
        label: required(&wanted.label, &LABEL, "--label-column")?,
        plot: optional(&wanted.plot, &PLOT)?,
        tree: optional(&wanted.tree, &TREE)?,
        scan: None,
    };
    let (files, missing) = labelled(&table, &columns, |file| (home.join(file), file.to_owned()))?;
    one_label_a_tree(&files)?;
    let mut plan = Plan::of_files(walk::stem(&table.path), files);
    plan.missing = missing;
    Ok(plan)
}

/// FOR-species20K.
pub fn for_species(root: &Path, _: &Options) -> Result<Plan> {
    let path = metadata(root).with_context(|| format!("{}: {METADATA} is not here", root.display()))?;
    let home = path.parent().unwrap_or(root);
    // The table's paths are those of its authors; only a file's name counts.
    let mut by_stem: HashMap<String, PathBuf> = HashMap::new();
    for path in labelled_files(home)? {
        let stem = walk::stem(&path);
        if let Some(other) = by_stem.insert(stem.clone(), path.clone()) {
            let (one, two) = (other.display(), path.display());
            bail!("tree {stem} has two files, {one} and {two}: keep one");
        }
    }
    let table = CsvFile::open(&path)?;
    let column = |name| table.need(&[name], "");
    let columns = Columns {
        tree: Some(column("treeID")?),
        label: column("species")?,
        plot: Some(column("dataset")?),
        scan: Some(column("data_type")?),
        file: column("filename")?,
    };
    let (files, missing) = labelled(&table, &columns, |file| {
        let stem = walk::stem(Path::new(file));
        let usual = || home.join("dev").join(format!("{stem}.las"));
        let path = by_stem.get(&stem).cloned().unwrap_or_else(usual);
        let source = walk::below(home, &path);
        (path, source)
    })?;
    let unnamed = by_stem.len() - files.len();
    let mut plan = Plan::of_files("for-species20k".into(), files);
    if unnamed > 0 {
        let note = format!("{unnamed} files have no row in {METADATA}, left out");
        plan.notes.push(note);
    }
    plan.missing = missing;
    Ok(plan)
}

/// The table of FOR-species20K in `root` or one folder below.
pub fn metadata(root: &Path) -> Option<PathBuf> {
    let folders = iter::once(root.to_owned()).chain(walk::folders(root).ok()?);
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

/// The files of a table, and those that do not exist. `locate` returns where a file is, and its source.
fn labelled(
    table: &CsvFile,
    columns: &Columns,
    locate: impl Fn(&str) -> (PathBuf, String),
) -> Result<(Vec<Labelled>, Vec<Damaged>)> {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    let mut seen: HashMap<PathBuf, (u64, String)> = HashMap::new();
    table.rows(|place, line, row| {
        let value = |column: usize| row.get(column).unwrap_or_default();
        let (file, label) = (value(columns.file), value(columns.label).to_owned());
        ensure!(
            !file.is_empty(),
            "{place}: the column '{}' is empty, expected the path of a point file",
            &table.header[columns.file]
        );
        ensure!(!label.is_empty(), "{place}: {file} has no label");
        let (path, source) = locate(file);
        // Two spellings of one path are one file.
        let key = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some((first, other)) = seen.insert(key, (line, label.clone())) {
            let what = match other == label {
                true => "twice",
                false => "with two labels",
            };
            let table = table.path.display();
            bail!("{table}: {file} is listed {what}, '{other}' in line {first} and '{label}' in line {line}");
        }
        if !path.is_file() {
            let why = format!("does not exist, but {place} lists it");
            missing.push(Damaged { path, why });
            return Ok(());
        }
        let given = |column: Option<usize>| column.map(value).filter(|s| !s.is_empty());
        let record = TreeRecord {
            tree: given(columns.tree).unwrap_or(file).to_owned(),
            plot: given(columns.plot).unwrap_or_default().to_owned(),
            scan: match given(columns.scan).map(str::to_ascii_uppercase).as_deref() {
                Some("TLS") => Scan::Tls,
                Some("ULS") => Scan::Uls,
                Some("ALS") => Scan::Als,
                _ => Scan::Unknown,
            },
            source,
            ..TreeRecord::default()
        };
        files.push(Labelled { path, label, record });
        Ok(())
    })?;
    let at = table.path.display();
    ensure!(
        !files.is_empty() || !missing.is_empty(),
        "{at}: has a header but no rows"
    );
    ensure!(
        !files.is_empty(),
        "{at}: none of its {} files exists, first {}",
        missing.len(),
        missing[0].path.display()
    );
    Ok((files, missing))
}

fn one_label_a_tree(files: &[Labelled]) -> Result<()> {
    let mut seen: HashMap<&str, &Labelled> = HashMap::new();
    for file in files {
        let first = *seen.entry(&file.record.tree).or_insert(file);
        ensure!(
            first.label == file.label,
            "tree '{}' has two labels: '{}' by {} and '{}' by {}",
            file.record.tree,
            first.label,
            first.record.source,
            file.label,
            file.record.source
        );
    }
    Ok(())
}

/// Whether the first line of `path` names columns for file and label.
pub fn is_table(path: &Path) -> bool {
    let named = |table: CsvFile| table.column(&FILE).and(table.column(&LABEL)).is_some();
    path.is_file() && CsvFile::head(path).is_ok_and(named)
}
