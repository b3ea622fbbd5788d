//! A CSV of file and label, with optional columns for plot and tree.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Options,
    csv_file::CsvFile,
    plan::{Damaged, Labelled, Plan},
    walk,
};
use crate::Scan;

const FILE: [&str; 5] = ["file", "filename", "path", "cloud", "file_name"];
const LABEL: [&str; 5] = ["label", "species", "class", "taxon", "taxonid"];
const PLOT: [&str; 3] = ["plot", "site", "plotid"];
const TREE: [&str; 4] = ["tree", "treeid", "tree_id", "tree_name"];

/// The index of each column.
struct Places {
    file: usize,
    label: usize,
    plot: Option<usize>,
    tree: Option<usize>,
}

pub fn plan(path: &Path, options: &Options) -> Result<Plan> {
    let path = &find(path)?;
    let home = path.parent().unwrap_or(Path::new("."));
    let table = CsvFile::open(path)?;
    let places = places(&table, options).with_context(|| path.display().to_string())?;
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    let mut seen: HashMap<PathBuf, (u64, String)> = HashMap::new();
    table.rows(|place, line, row| {
        let value = |column: usize| row.get(column).unwrap_or_default();
        let (file, label) = (value(places.file), value(places.label));
        ensure!(
            !file.is_empty(),
            "{place}: the column '{}' is empty, expected the path of a point file",
            &table.header[places.file]
        );
        ensure!(!label.is_empty(), "{place}: {file} has no label");
        let path = home.join(file);
        // Two spellings of one path are one file.
        let key = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some((first, other)) = seen.insert(key, (line, label.to_owned())) {
            let what = if other == label {
                "twice"
            } else {
                "with two labels"
            };
            bail!(
                "{}: {file} is listed {what}, '{other}' in line {first} and '{label}' in line {line}",
                table.path.display()
            );
        }
        if !path.is_file() {
            missing.push(Damaged {
                why: format!("does not exist, but {place} lists it"),
                path,
            });
            return Ok(());
        }
        let given = |column: Option<usize>| column.map(value).filter(|s| !s.is_empty()).map(str::to_owned);
        files.push(Labelled {
            source: file.to_owned(),
            path,
            label: label.to_owned(),
            tree: given(places.tree).unwrap_or_else(|| file.to_owned()),
            plot: given(places.plot),
            scan: Scan::Unknown,
        });
        Ok(())
    })?;
    ensure!(
        !files.is_empty() || !missing.is_empty(),
        "{}: has a header but no rows",
        path.display()
    );
    ensure!(
        !files.is_empty(),
        "{}: none of its {} files exists (paths are relative to the CSV), first {}",
        path.display(),
        missing.len(),
        missing[0].path.display()
    );
    one_label_a_tree(&files)?;
    let mut plan = Plan::of_files(walk::stem(path), files);
    plan.missing = missing;
    Ok(plan)
}

fn one_label_a_tree(files: &[Labelled]) -> Result<()> {
    let mut seen: HashMap<&str, &Labelled> = HashMap::new();
    for file in files {
        let first = *seen.entry(&file.tree).or_insert(file);
        ensure!(
            first.label == file.label,
            "tree '{}' has two labels: '{}' by {} and '{}' by {}",
            file.tree,
            first.label,
            first.source,
            file.label,
            file.source
        );
    }
    Ok(())
}

/// The CSV itself, or `labels.csv` in a folder.
fn find(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let labels = path.join("labels.csv");
    ensure!(
        labels.is_file(),
        "{}: is a folder without labels.csv; expected the path of a CSV",
        path.display()
    );
    Ok(labels)
}

/// Whether the first line of `path` names columns for file and label.
pub fn is_table(path: &Path) -> bool {
    let named = |table: CsvFile| table.column(&FILE).and(table.column(&LABEL)).is_some();
    path.is_file() && CsvFile::head(path).is_ok_and(named)
}

fn places(table: &CsvFile, options: &Options) -> Result<Places> {
    let place = |wanted: &Option<String>, names: &[&str]| match wanted {
        None => anyhow::Ok(table.column(names)),
        Some(name) => {
            let found = table.header.iter().position(|h| h == name);
            let found = found
                .with_context(|| format!("no column is called '{name}': there are {}", table.titles()))?;
            Ok(Some(found))
        }
    };
    let need = |wanted: &Option<String>, names: &[&str], option: &str| {
        place(wanted, names)?.with_context(|| {
            format!(
                "no column is called {}: there are {}; name it with {option}",
                names.join(", "),
                table.titles()
            )
        })
    };
    let wanted = &options.columns;
    Ok(Places {
        file: need(&wanted.file, &FILE, "--file-column")?,
        label: need(&wanted.label, &LABEL, "--label-column")?,
        plot: place(&wanted.plot, &PLOT)?,
        tree: place(&wanted.tree, &TREE)?,
    })
}
