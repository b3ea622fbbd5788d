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
    plan::{Damaged, Job, Plan, Tree},
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
    let table = match path.is_dir() {
        true => path.join(LABELS),
        false => path.to_owned(),
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
    let locate = |file: &str| (home.join(file), file.to_owned());
    let plan = labelled(walk::stem(&table.path), &table, &columns, locate)?;
    let mut seen: HashMap<&str, &Tree> = HashMap::new();
    for tree in plan.jobs.iter().flat_map(|file| &file.trees) {
        let TreeRecord {
            tree: name, source, ..
        } = &tree.record;
        let first = *seen.entry(name).or_insert(tree);
        let (one, other) = (&first.label, &tree.label);
        ensure!(
            one == other,
            "tree '{name}' has two labels: '{one}' by {} and '{other}' by {source}",
            first.record.source
        );
    }
    Ok(plan)
}

/// FOR-species20K.
pub fn for_species(root: &Path, _: &Options) -> Result<Plan> {
    let path = metadata(root).with_context(|| format!("{}: {METADATA} is not here", root.display()))?;
    let home = path.parent().unwrap_or(root);
    // LAS and LAZ files, without the unlabelled `test/`, whose numbers may be those of other trees. The table's paths are
    // those of its authors; only a file's name counts.
    let mut files = walk::entries(home)?;
    for folder in walk::folders(home)? {
        if !walk::name(&folder).eq_ignore_ascii_case("test") {
            files.extend(walk::point_files(&folder)?.0);
        }
    }
    files.retain(|p| walk::has_ending(p, &["las", "laz"]) && p.is_file());
    let mut by_stem: HashMap<String, PathBuf> = HashMap::new();
    for path in files {
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
    let mut plan = labelled("for-species20k".into(), &table, &columns, |file| {
        let stem = walk::stem(Path::new(file));
        let usual = || home.join("dev").join(format!("{stem}.las"));
        let path = by_stem.get(&stem).cloned().unwrap_or_else(usual);
        let source = walk::below(home, &path);
        (path, source)
    })?;
    let unnamed = by_stem.len() - plan.jobs.len();
    if unnamed > 0 {
        let note = format!("{unnamed} files have no row in {METADATA}, left out");
        plan.notes.push(note);
    }
    Ok(plan)
}

/// The table of FOR-species20K in `root` or one folder below.
pub fn metadata(root: &Path) -> Option<PathBuf> {
    let folders = iter::once(root.to_owned()).chain(walk::folders(root).ok()?);
    folders.map(|f| f.join(METADATA)).find(|p| p.is_file())
}

/// The files of a table. `locate` returns where a file is, and its source.
fn labelled(
    name: String,
    table: &CsvFile,
    columns: &Columns,
    locate: impl Fn(&str) -> (PathBuf, String),
) -> Result<Plan> {
    let at = table.path.display();
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
            let what = if other == label {
                "twice"
            } else {
                "with two labels"
            };
            bail!("{at}: {file} is listed {what}, '{other}' in line {first} and '{label}' in line {line}");
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
        files.push(Job::file(path, label, record));
        Ok(())
    })?;
    let first = missing.first().map(|d: &Damaged| d.path.display());
    match (files.is_empty(), first) {
        (true, None) => bail!("{at}: has a header but no rows"),
        (true, Some(first)) => bail!("{at}: none of its {} files exists, first {first}", missing.len()),
        _ => {}
    }
    let mut plan = Plan::new(name, files);
    plan.missing = missing;
    Ok(plan)
}

/// Whether the first line of `path` names columns for file and label.
pub fn is_table(path: &Path) -> bool {
    let named = |table: CsvFile| table.column(&FILE).and(table.column(&LABEL)).is_some();
    path.is_file() && CsvFile::head(path).is_ok_and(named)
}
