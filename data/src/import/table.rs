//! A CSV of file and label, with optional columns for plot and tree.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Options,
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

pub fn plan(table: &Path, options: &Options) -> Result<Plan> {
    let table = &find(table)?;
    let home = table.parent().unwrap_or(Path::new("."));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter(table)?)
        .trim(csv::Trim::All)
        .from_path(table)
        .with_context(|| table.display().to_string())?;
    let header = reader
        .headers()
        .with_context(|| table.display().to_string())?
        .clone();
    let places = places(&header, options).with_context(|| table.display().to_string())?;
    let mut files = Vec::new();
    let mut missing = Vec::new();
    let mut seen: HashMap<PathBuf, (u64, String)> = HashMap::new();
    for row in reader.records() {
        let row = row.with_context(|| table.display().to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        let at = |place: usize| row.get(place).unwrap_or_default();
        let (file, label) = (at(places.file), at(places.label));
        ensure!(
            !file.is_empty(),
            "{} line {line}: the file is empty",
            table.display()
        );
        ensure!(
            !label.is_empty(),
            "{} line {line}: {file} has no label",
            table.display()
        );
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
                table.display()
            );
        }
        if !path.is_file() {
            missing.push(Damaged {
                why: format!("does not exist, but {} line {line} lists it", table.display()),
                path,
            });
            continue;
        }
        let given = |place: Option<usize>| place.map(at).filter(|s| !s.is_empty()).map(str::to_owned);
        files.push(Labelled {
            source: file.to_owned(),
            path,
            label: label.to_owned(),
            tree: given(places.tree).unwrap_or_else(|| file.to_owned()),
            plot: given(places.plot),
            scan: Scan::Unknown,
        });
    }
    ensure!(
        !files.is_empty() || !missing.is_empty(),
        "{}: has a header but no rows",
        table.display()
    );
    ensure!(
        !files.is_empty(),
        "{}: none of its {} files exists (paths are relative to the CSV), first {}",
        table.display(),
        missing.len(),
        missing[0].path.display()
    );
    one_label_a_tree(&files)?;
    let mut plan = Plan::of_files(walk::stem(table), files);
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
    let header = || -> Result<csv::StringRecord> {
        Ok(csv::ReaderBuilder::new()
            .delimiter(delimiter(path)?)
            .trim(csv::Trim::All)
            .from_path(path)?
            .headers()?
            .clone())
    };
    path.is_file() && header().is_ok_and(|h| places(&h, &Options::default()).is_ok())
}

/// The most frequent separator of the first line.
fn delimiter(path: &Path) -> Result<u8> {
    use std::io::{BufRead, BufReader, Read};
    let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    let mut line = Vec::new();
    BufReader::new(file.take(1 << 16))
        .read_until(b'\n', &mut line)
        .with_context(|| path.display().to_string())?;
    let count = |d: &u8| line.iter().filter(|b| *b == d).count();
    Ok([b',', b';', b'\t']
        .into_iter()
        .rev()
        .max_by_key(count)
        .unwrap_or(b','))
}

fn places(header: &csv::StringRecord, options: &Options) -> Result<Places> {
    let asked = &options.columns;
    let usual = |names: &[&str]| {
        names.iter().find_map(|n| {
            header
                .iter()
                .position(|h| h.trim_start_matches('\u{feff}').eq_ignore_ascii_case(n))
        })
    };
    let place = |asked: &Option<String>, names: &[&str]| match asked {
        None => Ok(usual(names)),
        Some(name) => header
            .iter()
            .position(|h| h.trim_start_matches('\u{feff}') == name)
            .map(Some)
            .with_context(|| format!("no column is called '{name}': there are {}", titles(header))),
    };
    let need = |asked: &Option<String>, names: &[&str], option: &str| {
        place(asked, names)?.with_context(|| {
            format!(
                "no column is called {}: there are {}; name it with {option}",
                names.join(", "),
                titles(header)
            )
        })
    };
    Ok(Places {
        file: need(&asked.file, &FILE, "--file-column")?,
        label: need(&asked.label, &LABEL, "--label-column")?,
        plot: place(&asked.plot, &PLOT)?,
        tree: place(&asked.tree, &TREE)?,
    })
}

fn titles(header: &csv::StringRecord) -> String {
    header.iter().collect::<Vec<_>>().join(", ")
}
