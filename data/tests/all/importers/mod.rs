//! Each layout, made small in a folder, with what can be wrong in it.

mod made_idtrees;
mod opening;

use std::{
    fs,
    path::{Path, PathBuf},
};

use canopy_data::{
    Cloud, TreeRecord, formats,
    import::{self, Kind, Options, Report},
};
use tempfile::TempDir;

use crate::assert_contains;

/// `n` points that no other cloud has.
fn cloud(n: usize, mark: usize) -> Cloud {
    let at = |i: usize| [i as f32 * 0.5, mark as f32, (i % 7) as f32];
    Cloud::from_points((0..n).map(at).collect())
}

/// Writes a cloud; the mark makes its bytes its own.
fn put(root: &Path, name: &str, n: usize, mark: usize) -> PathBuf {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    formats::write(&path, &cloud(n, mark), &formats::Options::default()).unwrap();
    path
}

fn text(root: &Path, name: &str, content: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

type Trees = Vec<(TreeRecord, Cloud)>;

fn import(kind: Kind, path: &Path, options: &Options) -> Result<(Vec<String>, Trees, Report), String> {
    let go = || {
        let plan = import::plan(kind, path, options)?;
        let mut trees = Vec::new();
        let mut keep = |record, cloud| {
            trees.push((record, cloud));
            Ok(())
        };
        let report = import::run(&plan, options, &mut keep, &mut |_| Ok(()))?;
        anyhow::Ok((plan.species, trees, report))
    };
    go().map_err(|e| format!("{e:#}"))
}

/// Imports into the folder `out`; returns the set's digest too.
fn shards(kind: Kind, path: &Path, options: &Options, out: &Path) -> Result<(Report, String), String> {
    let plan = import::plan(kind, path, options).unwrap();
    import::to_shards(plan, kind, options, out, &mut |_| Ok(())).map_err(|e| format!("{e:#}"))
}

/// Fails with an error that contains `parts`.
#[track_caller]
fn fails(kind: Kind, path: &Path, parts: &[&str]) {
    let error = import(kind, path, &Options::default()).unwrap_err();
    assert_contains(&error, parts);
}

fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Clouds in a new folder: name and number of points. No two have the same bytes.
fn clouds(files: &[(&str, usize)]) -> TempDir {
    let d = dir();
    for (mark, &(name, n)) in files.iter().enumerate() {
        put(d.path(), name, n, mark);
    }
    d
}

fn stpctls() -> TempDir {
    let d = dir();
    for (name, content) in [
        ("Buche/Buche 1_ä.xyz", "1.5 2 3\n1 2 4\n"),
        ("Buche/2.pts", "2\n1 2 3 77 10 20 30\n4 5 6 78 10 20 30\n"),
        ("Roteiche/Stück 3.txt", "1,2,3,0.5\n4,5,6,0.25\n7,8,9,1\n"),
        ("Fichte/f.xyz", "0 0 0\n0 0 9\n"),
    ] {
        text(d.path(), name, content);
    }
    d
}

/// FOR-species20K with two trees and `more` rows.
fn for_species(more: &str) -> TempDir {
    let d = clouds(&[
        ("dev/00070.las", 20),
        ("dev/00071.laz", 30),
        ("test/00072.las", 40),
    ]);
    let rows = "treeID,species,genus,dataset,data_type,tree_H,filename\n\
                70,Pinus_sylvestris,Pinus,plotA,TLS,20.1,/train/00070.las\n\
                71,Fagus_sylvatica,Fagus,plotB,ULS,9,/train/00071.las\n";
    text(d.path(), "tree_metadata_dev.csv", &format!("{rows}{more}"));
    d
}

/// A folder with plots, and files that are no trees.
fn folder() -> TempDir {
    let d = clouds(&[
        ("oak/north/a.laz", 10),
        ("oak/b.ply", 11),
        ("ash/south/c.xyz", 12),
    ]);
    text(d.path(), "ash/notes.md", "hello");
    text(d.path(), ".hidden/x.xyz", "1 2 3");
    d
}

/// A table as a spreadsheet writes it, beside its clouds.
fn table() -> TempDir {
    let d = clouds(&[("clouds/a b.xyz", 10), ("clouds/ü.xyz", 11)]);
    let rows = "\u{feff}File;Species;Plot\nclouds/a b.xyz;oak;p1\nclouds/ü.xyz;ash;p2\n";
    text(d.path(), "labels.csv", rows);
    d
}

#[test]
fn each_layout_is_recognised_and_gives_labels_trees_plots_and_scanners() {
    let cases: [(Kind, TempDir, &[&str], &[&str]); 4] = [
        (
            Kind::Stpctls,
            stpctls(),
            &[
                "Buche/2.pts, European beech, Buche/2, Buche/2, Tls, 2",
                "Buche/Buche 1_ä.xyz, European beech, Buche/Buche 1_ä, Buche/Buche 1_ä, Tls, 2",
                "Fichte/f.xyz, Norway spruce, Fichte/f, Fichte/f, Tls, 2",
                "Roteiche/Stück 3.txt, red oak, Roteiche/Stück 3, Roteiche/Stück 3, Tls, 3",
            ],
            &["the set names no plots: each tree is its own"],
        ),
        // Files are found by their names, and the part without labels is left alone.
        (
            Kind::ForSpecies20k,
            for_species(""),
            &[
                "dev/00070.las, Pinus_sylvestris, 70, plotA, Tls, 20",
                "dev/00071.laz, Fagus_sylvatica, 71, plotB, Uls, 30",
            ],
            &[],
        ),
        (
            Kind::Folder,
            folder(),
            &[
                "ash/south/c.xyz, ash, ash/south/c, south, Unknown, 12",
                "oak/b.ply, oak, oak/b, oak/b, Unknown, 11",
                "oak/north/a.laz, oak, oak/north/a, north, Unknown, 10",
            ],
            &["1 files of other kinds left out"],
        ),
        (
            Kind::Csv,
            table(),
            &[
                "clouds/a b.xyz, oak, clouds/a b.xyz, p1, Unknown, 10",
                "clouds/ü.xyz, ash, clouds/ü.xyz, p2, Unknown, 11",
            ],
            &[],
        ),
    ];
    for (kind, d, expected, notes) in cases {
        assert_eq!(import::detect(d.path()).unwrap(), kind);
        let (species, trees, report) = import(kind, d.path(), &Options::default()).unwrap();
        assert!(species.is_sorted());
        let fact = |(r, cloud): &(TreeRecord, Cloud)| {
            let (species, n) = (&species[r.species], cloud.len());
            format!(
                "{}, {species}, {}, {}, {:?}, {n}",
                r.source, r.tree, r.plot, r.scan
            )
        };
        assert_eq!(trees.iter().map(fact).collect::<Vec<_>>(), expected);
        let points: usize = trees.iter().map(|t| t.1.len()).sum();
        assert_eq!((report.trees, report.points), (expected.len(), points as u64));
        let plan = import::plan(kind, d.path(), &Options::default()).unwrap();
        assert_eq!(plan.notes, notes);
    }
}

#[test]
fn a_layout_that_contradicts_itself_is_refused() {
    let birch = stpctls();
    text(birch.path(), "Birke/b.xyz", "1 2 3\n");
    let twice = dir();
    put(twice.path(), "oak/a.xyz", 10, 1);
    put(twice.path(), "ash/b.xyz", 10, 1);
    let columns = for_species("");
    text(columns.path(), "tree_metadata_dev.csv", "tree,kind\n1,2\n");
    let cases: [(Kind, TempDir, &[&str]); 5] = [
        (
            Kind::Stpctls,
            birch,
            &["unknown label: folder 'Birke'", "Buche, Douglasie"],
        ),
        (Kind::Folder, twice, &["two labels", "oak/a.xyz", "ash/b.xyz"]),
        (
            Kind::ForSpecies20k,
            columns,
            &["no column is called treeID: there are tree, kind"],
        ),
        (
            Kind::ForSpecies20k,
            for_species("70,Picea_abies,Picea,plotA,TLS,3,/train/00070.las\n"),
            &["'Pinus_sylvestris' in line 2 and 'Picea_abies' in line 4"],
        ),
        (
            Kind::ForSpecies20k,
            for_species("99,Picea_abies,Picea,plotA,TLS,3,/train/00099.las\n"),
            &["1 file(s)", "00099", "line 4"],
        ),
    ];
    for (kind, d, parts) in &cases {
        fails(*kind, d.path(), parts);
    }
    let skip = options(|o| o.skip_damaged = true);
    let (_, trees, report) = import(Kind::ForSpecies20k, cases[4].1.path(), &skip).unwrap();
    assert_eq!((trees.len(), report.damaged.len()), (2, 1));
}

#[test]
fn damaged_files_are_all_named_and_skipped_only_on_request() {
    let d = clouds(&[("oak/good.laz", 10), ("ash/good.laz", 10), ("oak/cut.laz", 5_000)]);
    text(d.path(), "oak/empty.las", "");
    text(d.path(), "ash/bad.xyz", "1 2 nonsense\n");
    text(d.path(), "ash/nan.xyz", "1 2 3\nnan 1 2\n");
    let cut = d.path().join("oak/cut.laz");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let parts = [
        "4 file(s)",
        "empty.las",
        "bad.xyz",
        "nan.xyz",
        "cut.laz",
        "--skip-damaged",
    ];
    fails(Kind::Folder, d.path(), &parts);
    let skip = options(|o| o.skip_damaged = true);
    let (_, trees, report) = import(Kind::Folder, d.path(), &skip).unwrap();
    assert_eq!((trees.len(), report.damaged.len()), (2, 4));
    let out = d.path().join("set");
    assert!(shards(Kind::Folder, d.path(), &Options::default(), &out).is_err());
    assert!(!out.exists(), "a failed import left a set");
}

#[test]
fn empty_and_absent_folders_say_what_was_expected() {
    let d = dir();
    for kind in Kind::ALL {
        fails(kind, d.path(), &[kind.name()]);
        let absent = ["no such file or folder", kind.expects()];
        fails(kind, &d.path().join("absent"), &absent);
    }
    let error = format!("{:#}", import::detect(d.path()).unwrap_err());
    assert_contains(&error, &["no data set recognised", "tree_metadata_dev.csv"]);
}

#[test]
fn the_columns_of_a_table_can_be_named() {
    let d = table();
    let rows = "wolke,art,baum\nclouds/a b.xyz,oak,t1\nclouds/ü.xyz,oak,t1\n";
    text(d.path(), "other.csv", rows);
    let other = d.path().join("other.csv");
    let parts = ["there are wolke, art, baum", "--file-column"];
    fails(Kind::Csv, &other, &parts);
    let named = options(|o| {
        o.columns.file = Some("wolke".into());
        o.columns.label = Some("art".into());
        o.columns.tree = Some("baum".into());
    });
    let (_, trees, _) = import(Kind::Csv, &other, &named).unwrap();
    assert!(trees.iter().all(|t| t.0.tree == "t1"));
}

#[test]
fn errors_of_a_table_name_the_line() {
    let d = dir();
    put(d.path(), "a.xyz", 10, 1);
    let table = d.path().join("t.csv");
    let utf16: Vec<u8> = "\u{feff}file,label\na.xyz,oak\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&[u8], &str); 11] = [
        (
            b"file,label,tree\na.xyz,oak,1\n./a.xyz,ash,2\n",
            "with two labels, 'oak' in line 2 and 'ash' in line 3",
        ),
        (b"file,label\na.xyz,oak\na.xyz,oak\n", "twice"),
        (b"file,label\na.xyz,\n", "line 2: a.xyz has no label"),
        (
            b"file,label\na.xyz,oak\n,oak\n",
            "line 3: the column 'file' is empty",
        ),
        (b"file,label\nb.xyz,oak\n", "none of its 1 files exists"),
        (b"file,label\na.xyz,oak\nb.xyz,oak\n", "line 3 lists it"),
        (b"file,label\n", "no rows"),
        (b"file,label\na.xyz\n", "t.csv"),
        // As spreadsheets write them: nothing in the first line, Latin-1, UTF-16.
        (b"\n", "expected the names of columns, found none"),
        (
            b"file,label\na.xyz,Fr\xfche Esche\n",
            "t.csv line 2: a character that is not UTF-8, as in Latin-1: save the table as UTF-8",
        ),
        (&utf16, "t.csv: text in UTF-16: save it as UTF-8"),
    ];
    for (bytes, part) in cases {
        fs::write(&table, bytes).unwrap();
        fails(Kind::Csv, &table, &[part]);
    }
    let error = format!("{:#}", import::detect(&table).unwrap_err());
    assert_contains(&error, &["UTF-16: save it as UTF-8"]);
}

#[test]
fn text_beside_the_trees_is_left_out_and_an_empty_cloud_is_named_once() {
    let d = clouds(&[("oak/a.xyz", 10), ("ash/b.xyz", 10)]);
    let prose = "Scanned in 2019 with 3 tripods.\nSee the paper.\n";
    text(d.path(), "oak/README.txt", prose);
    let plan = import::plan(Kind::Folder, d.path(), &Options::default()).unwrap();
    assert_eq!(plan.trees(), 2);
    assert_contains(&plan.notes[0], &["README.txt: text without points, left out"]);
    // A damaged cloud is no such text.
    text(d.path(), "oak/c.txt", "1 2 three\n");
    fails(Kind::Folder, d.path(), &["c.txt"]);
    fs::remove_file(d.path().join("oak/c.txt")).unwrap();
    put(d.path(), "oak/none.ply", 0, 3);
    let skip = options(|o| o.skip_damaged = true);
    let (_, _, report) = import(Kind::Folder, d.path(), &skip).unwrap();
    let none = d.path().join("oak/none.ply");
    assert_eq!(
        report.damaged[0].to_string(),
        format!("{}: has no points", none.display())
    );
}

#[test]
fn clouds_without_extent_are_kept_and_reported() {
    let d = clouds(&[("oak/a.xyz", 100)]);
    text(d.path(), "oak/b.xyz", &"1 2 3\n".repeat(40));
    text(d.path(), "ash/c.xyz", "1 2 3\n");
    let (_, trees, report) = import(Kind::Folder, d.path(), &Options::default()).unwrap();
    assert_eq!((trees.len(), report.trees, report.points), (3, 3, 141));
    let named: Vec<String> = report.degenerate.iter().map(ToString::to_string).collect();
    assert_eq!(named.len(), 2);
    assert_contains(&named[0], &["ash/c.xyz", "only one point"]);
    assert_contains(&named[1], &["oak/b.xyz", "40 points"]);
}

#[test]
fn species_and_sizes_can_be_chosen() {
    let d = clouds(&[("oak/a.xyz", 100), ("ash/b.xyz", 10), ("elm, wych/c.xyz", 200)]);
    // As a command line divides `elm, wych,oak`.
    let names = ["elm", " wych", "oak"].map(String::from).to_vec();
    let two = options(|o| {
        o.species = names.clone();
        o.max_points = Some(150);
    });
    let (species, trees, report) = import(Kind::Folder, d.path(), &two).unwrap();
    assert_eq!(species, ["elm, wych", "oak"]);
    assert_eq!((trees[0].1.len(), report.thinned), (150, 1));
    let unknown = options(|o| o.species = vec!["yew".into()]);
    let error = import(Kind::Folder, d.path(), &unknown).unwrap_err();
    assert_contains(&error, &["unknown label 'yew'", "ash, elm, wych, oak"]);

    let few = options(|o| o.min_points = 50);
    let out = d.path().join("set");
    let (report, _) = shards(Kind::Folder, d.path(), &few, &out).unwrap();
    assert_eq!((report.trees, report.sparse), (2, 1));
    let data = canopy_data::shard::open(&out).unwrap();
    // A species without trees has no label.
    assert_eq!(data.species, ["elm, wych", "oak"]);
    assert_eq!(data.subset(&names, 1).unwrap().species, data.species);
    assert_eq!(data.subset(&names[..2], 1).unwrap().len(), 1);
}
