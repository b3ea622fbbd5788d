//! Each layout, made small in a folder, with what can be wrong in it.

mod made_idtrees;
mod opening;

use std::{
    fs,
    path::{Path, PathBuf},
};

use canopy_data::{
    Cloud, TreeRecord, formats,
    import::{self, KINDS, Kind, Options, Report},
    shard,
};
use tempfile::TempDir;

use crate::{assert_contains, unescaped};

/// Writes `n` points; the mark makes the file's bytes its own.
fn put(path: &Path, n: usize, mark: usize) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let at = |i: usize| [i as f32 * 0.5, mark as f32, (i % 7) as f32];
    let cloud = Cloud::from_points((0..n).map(at).collect());
    formats::write(path, &cloud, &formats::Options::default()).unwrap();
}

fn text(root: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

struct Imported {
    species: Vec<String>,
    notes: Vec<String>,
    trees: Vec<(TreeRecord, Cloud)>,
    report: Report,
}

fn import(kind: &Kind, path: &Path, options: &Options) -> Result<Imported, String> {
    let go = || {
        let plan = import::plan(kind, path, options)?;
        let mut trees = Vec::new();
        let mut keep = |record, cloud| {
            trees.push((record, cloud));
            Ok(())
        };
        let report = import::run(&plan, options, &mut keep, &mut |_, _| Ok(()))?;
        anyhow::Ok(Imported {
            species: plan.species,
            notes: plan.notes,
            trees,
            report,
        })
    };
    go().map_err(|e| format!("{e:#}"))
}

/// Imports into the folder `out`; returns the set's digest too.
fn shards(kind: &str, path: &Path, options: &Options, out: &Path) -> Result<(Report, String), String> {
    let kind = import::kind(kind).unwrap();
    let plan = import::plan(kind, path, options).unwrap();
    import::to_shards(plan, kind, options, out, &mut |_, _| Ok(())).map_err(|e| format!("{e:#}"))
}

/// One case of `cases.txt`.
struct Case<'a> {
    kind: &'static Kind,
    options: Options,
    dir: TempDir,
    path: PathBuf,
    lines: Vec<&'a str>,
}

impl<'a> Case<'a> {
    /// Writes the files of the case `source`.
    fn new(source: &'a str) -> Self {
        let (head, lines) = source.split_once('\n').unwrap();
        let mut words = head.split(' ');
        let kind = import::kind(words.next().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (mut options, mut path) = (Options::default(), dir.path().to_owned());
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let owned = Some(value.to_owned());
            match name {
                "skip-damaged" => options.skip_damaged = true,
                "species" => options.species = value.replace('~', " ").split(',').map(String::from).collect(),
                "min-points" => options.min_points = value.parse().unwrap(),
                "max-points" => options.max_points = value.parse().ok(),
                "file" => options.columns.file = owned,
                "label" => options.columns.label = owned,
                "tree" => options.columns.tree = owned,
                "path" => path = dir.path().join(value),
                _ => panic!("{word}"),
            }
        }
        let (files, lines): (Vec<&str>, Vec<&str>) = lines.lines().partition(|line| line.contains(" <"));
        for (mark, file) in files.iter().enumerate() {
            let (name, content) = file.split_once(" <").unwrap();
            match content.trim_start().strip_suffix(" points") {
                Some(n) => put(&dir.path().join(name), n.parse().unwrap(), mark),
                None => text(dir.path(), name, unescaped(content.trim_start())),
            }
        }
        Self {
            kind,
            options,
            dir,
            path,
            lines,
        }
    }

    /// `text` with paths relative to the folder.
    fn bare(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.dir.path().display()), "")
    }

    /// What an import returns, a line each.
    fn result(&self, found: &Imported) -> Vec<String> {
        let note = |note: &String| format!("note: {}", self.bare(note));
        let tree = |(r, cloud): &(TreeRecord, Cloud)| {
            let (species, n) = (&found.species[r.species], cloud.len());
            let (source, tree, plot, scan) = (&r.source, &r.tree, &r.plot, r.scan);
            format!("{source}, {species}, {tree}, {plot}, {scan:?}, {n}")
        };
        let report = &found.report;
        let damaged = |d: &import::Damaged| format!("damaged: {}", self.bare(&d.path.display().to_string()));
        let mut lines: Vec<String> = found.notes.iter().map(note).collect();
        lines.extend(found.trees.iter().map(tree));
        lines.extend(report.degenerate.iter().map(|d| format!("flat: {d}")));
        lines.extend(report.damaged.iter().map(damaged));
        let (trees, points) = (report.trees, report.points);
        let (sparse, thinned) = (report.sparse, report.thinned);
        lines.push(format!(
            "{trees} trees, {points} points, {sparse} sparse, {thinned} thinned"
        ));
        lines
    }
}

#[test]
fn each_layout_gives_labels_trees_plots_and_scanners_or_says_what_is_wrong() {
    let cases = include_str!("cases.txt").lines().filter(|l| !l.starts_with('#'));
    let cases: String = cases.flat_map(|line| [line, "\n"]).collect();
    for source in cases.split("== ").skip(1) {
        let case = Case::new(source);
        let found = import(case.kind, &case.path, &case.options);
        match found {
            Err(error) => {
                let error = case.bare(&error);
                for line in &case.lines {
                    let part = line.strip_prefix("! ");
                    let part = part.unwrap_or_else(|| panic!("{source}\n{error}"));
                    assert_contains(&error, &[&part.replace("\\n", "\n")]);
                }
            }
            Ok(found) => {
                let lines = case.result(&found).into_iter().map(|line| format!("> {line}"));
                assert_eq!(lines.collect::<Vec<_>>(), case.lines, "{source}");
                assert_eq!(
                    import::detect(&case.path).map_or("", |k| k.name) == case.kind.name,
                    case.options.columns.file.is_none()
                );
            }
        }
    }
}

#[test]
fn a_path_without_a_data_set_says_what_was_expected() {
    let d = tempfile::tempdir().unwrap();
    for kind in &KINDS {
        let error = |path: &Path| import(kind, path, &Options::default()).err().unwrap();
        assert_contains(&error(d.path()), &[kind.name]);
        let absent = error(&d.path().join("absent"));
        assert_contains(&absent, &["no such file or folder", kind.expects]);
    }
    let error = format!("{:#}", import::detect(d.path()).unwrap_err());
    assert_contains(&error, &["no data set recognised", "tree_metadata_dev.csv"]);
    text(d.path(), "t.csv", b"\xff\xfef\0");
    let error = format!("{:#}", import::detect(&d.path().join("t.csv")).unwrap_err());
    assert_contains(&error, &["UTF-16: save it as UTF-8"]);
}

#[test]
fn a_species_without_trees_has_no_label_and_a_failed_import_leaves_no_set() {
    let d = tempfile::tempdir().unwrap();
    for (mark, (name, n)) in [("oak/a.xyz", 100), ("ash/b.xyz", 10), ("elm, wych/c.laz", 9_000)]
        .into_iter()
        .enumerate()
    {
        put(&d.path().join(name), n, mark);
    }
    let out = d.path().join("set");
    let few = Options {
        min_points: 50,
        ..Options::default()
    };
    let (report, _) = shards("folder", d.path(), &few, &out).unwrap();
    assert_eq!((report.trees, report.sparse), (2, 1));
    let data = shard::open(&out).unwrap();
    assert_eq!(data.species, ["elm, wych", "oak"]);
    let names = ["elm", " wych", "oak"].map(String::from);
    assert_eq!(data.subset(&names, 1).unwrap().species, data.species);
    assert_eq!(data.subset(&names[..2], 1).unwrap().len(), 1);

    fs::remove_dir_all(&out).unwrap();
    let cut = d.path().join("elm, wych/c.laz");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let error = shards("folder", d.path(), &Options::default(), &out).unwrap_err();
    assert_contains(&error, &["c.laz"]);
    assert!(!out.exists(), "a failed import left a set");
}
