//! Each layout, made small in a folder, with what can be wrong in it.

mod made_idtrees;
mod opening;

use std::{
    fs,
    path::{Path, PathBuf},
};

use canopy_data::{
    Cloud, Scan, TreeRecord, formats,
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
        let report = import::run(&plan, options, &mut trees, &mut |_| Ok(()))?;
        anyhow::Ok((plan.species, trees, report))
    };
    go().map_err(|e| format!("{e:#}"))
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

fn stpctls() -> TempDir {
    let d = dir();
    text(d.path(), "Buche/Buche 1_ä.xyz", "1.5 2 3\n1 2 4\n");
    text(
        d.path(),
        "Buche/2.pts",
        "2\n1 2 3 77 10 20 30\n4 5 6 78 10 20 30\n",
    );
    text(
        d.path(),
        "Roteiche/Stück 3.txt",
        "1,2,3,0.5\n4,5,6,0.25\n7,8,9,1\n",
    );
    text(d.path(), "Fichte/f.xyz", "0 0 0\n0 0 9\n");
    d
}

#[test]
fn stpctls_has_english_labels_and_reads_its_three_kinds_of_text() {
    let d = stpctls();
    assert_eq!(import::detect(d.path()).unwrap(), Kind::Stpctls);
    let (species, trees, report) = import(Kind::Stpctls, d.path(), &Options::default()).unwrap();
    assert_eq!(species, ["European beech", "Norway spruce", "red oak"]);
    assert_eq!((report.trees, report.points), (4, 9));
    let of = |source: &str| trees.iter().find(|t| t.0.source == source).unwrap();
    assert_eq!(of("Buche/2.pts").1.len(), 2);
    let (oak, points) = of("Roteiche/Stück 3.txt");
    assert_eq!((oak.species, oak.scan, points.len()), (2, Scan::Tls, 3));
    assert_eq!(oak.plot, oak.tree);
}

#[test]
fn stpctls_refuses_a_folder_of_an_unknown_species() {
    let d = stpctls();
    text(d.path(), "Birke/b.xyz", "1 2 3\n");
    fails(
        Kind::Stpctls,
        d.path(),
        &["unknown label: folder 'Birke'", "Buche, Douglasie"],
    );
}

fn for_species(rows: &str) -> TempDir {
    let d = dir();
    put(d.path(), "dev/00070.las", 20, 1);
    put(d.path(), "dev/00071.laz", 30, 2);
    put(d.path(), "test/00072.las", 40, 3);
    text(
        d.path(),
        "tree_metadata_dev.csv",
        &format!("treeID,species,genus,dataset,data_type,tree_H,filename\n{rows}"),
    );
    d
}

const ROWS: &str = "70,Pinus_sylvestris,Pinus,plotA,TLS,20.1,/train/00070.las\n71,Fagus_sylvatica,Fagus,plotB,ULS,9,/train/00071.las\n";

#[test]
fn for_species_finds_files_by_stem_and_leaves_the_test_part_alone() {
    let d = for_species(ROWS);
    assert_eq!(import::detect(d.path()).unwrap(), Kind::ForSpecies20k);
    let (species, trees, _) = import(Kind::ForSpecies20k, d.path(), &Options::default()).unwrap();
    assert_eq!(species, ["Fagus_sylvatica", "Pinus_sylvestris"]);
    let facts: Vec<_> = trees
        .iter()
        .map(|(r, c)| (r.tree.as_str(), r.plot.as_str(), r.scan, r.species, c.len()))
        .collect();
    assert_eq!(
        facts,
        [
            ("70", "plotA", Scan::Tls, 1, 20),
            ("71", "plotB", Scan::Uls, 0, 30)
        ]
    );
}

#[test]
fn for_species_names_rows_without_files_two_rows_of_one_file_and_missing_columns() {
    let more = format!("{ROWS}99,Picea_abies,Picea,plotA,TLS,3,/train/00099.las\n");
    let d = for_species(&more);
    fails(Kind::ForSpecies20k, d.path(), &["1 file(s)", "00099", "line 4"]);
    let skip = options(|o| o.skip_damaged = true);
    let (_, trees, report) = import(Kind::ForSpecies20k, d.path(), &skip).unwrap();
    assert_eq!((trees.len(), report.damaged.len()), (2, 1));

    let twice = format!("{ROWS}70,Picea_abies,Picea,plotA,TLS,3,/train/00070.las\n");
    fails(
        Kind::ForSpecies20k,
        for_species(&twice).path(),
        &["lines 2 and 4"],
    );

    let d = for_species("");
    text(d.path(), "tree_metadata_dev.csv", "tree,kind\n1,2\n");
    fails(
        Kind::ForSpecies20k,
        d.path(),
        &["no column is called treeID: there are tree, kind"],
    );
}

#[test]
fn a_folder_takes_plots_from_its_second_level() {
    let d = dir();
    put(d.path(), "oak/north/a.laz", 10, 1);
    put(d.path(), "oak/b.ply", 11, 2);
    put(d.path(), "ash/south/c.xyz", 12, 3);
    text(d.path(), "ash/notes.md", "hello");
    text(d.path(), ".hidden/x.xyz", "1 2 3");
    assert_eq!(import::detect(d.path()).unwrap(), Kind::Folder);
    let (species, trees, _) = import(Kind::Folder, d.path(), &Options::default()).unwrap();
    assert_eq!(species, ["ash", "oak"]);
    let facts: Vec<_> = trees
        .iter()
        .map(|(r, c)| (r.source.as_str(), r.plot.as_str(), r.species, c.len()))
        .collect();
    assert_eq!(
        facts,
        [
            ("ash/south/c.xyz", "south", 0, 12),
            ("oak/b.ply", "oak/b", 1, 11),
            ("oak/north/a.laz", "north", 1, 10)
        ]
    );
    let plan = import::plan(Kind::Folder, d.path(), &Options::default()).unwrap();
    assert_eq!(plan.notes, ["1 files of other kinds left out"]);
}

#[test]
fn the_same_bytes_under_two_labels_are_refused() {
    let d = dir();
    put(d.path(), "oak/a.xyz", 10, 1);
    put(d.path(), "ash/b.xyz", 10, 1);
    fails(Kind::Folder, d.path(), &["two labels", "oak/a.xyz", "ash/b.xyz"]);
}

#[test]
fn damaged_files_are_all_named_and_skipped_only_on_request() {
    let d = dir();
    put(d.path(), "oak/good.laz", 10, 1);
    put(d.path(), "ash/good.laz", 10, 2);
    text(d.path(), "oak/empty.las", "");
    text(d.path(), "ash/bad.xyz", "1 2 nonsense\n");
    text(d.path(), "ash/nan.xyz", "1 2 3\nnan 1 2\n");
    let cut = put(d.path(), "oak/cut.laz", 5_000, 3);
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
    let plan = import::plan(Kind::Folder, d.path(), &Options::default()).unwrap();
    assert!(import::to_shards(plan, Kind::Folder, &Options::default(), &out, &mut |_| Ok(())).is_err());
    assert!(!out.exists(), "a failed import left a set");
}

#[test]
fn empty_and_absent_folders_say_what_was_expected() {
    let d = dir();
    for kind in Kind::ALL {
        fails(kind, d.path(), &[kind.name()]);
        fails(
            kind,
            &d.path().join("absent"),
            &["no such file or folder", kind.expects()],
        );
    }
    let error = format!("{:#}", import::detect(d.path()).unwrap_err());
    assert_contains(&error, &["no data set recognised", "tree_metadata_dev.csv"]);
}

#[test]
fn a_table_takes_usual_and_named_columns_and_any_separator() {
    let d = dir();
    put(d.path(), "clouds/a b.xyz", 10, 1);
    put(d.path(), "clouds/ü.xyz", 11, 2);
    text(
        d.path(),
        "labels.csv",
        "\u{feff}File;Species;Plot\nclouds/a b.xyz;oak;p1\nclouds/ü.xyz;ash;p2\n",
    );
    assert_eq!(import::detect(d.path()).unwrap(), Kind::Csv);
    let (species, trees, _) = import(Kind::Csv, &d.path().join("labels.csv"), &Options::default()).unwrap();
    assert_eq!(species, ["ash", "oak"]);
    assert_eq!((trees[0].0.plot.as_str(), trees[0].1.len()), ("p1", 10));

    text(
        d.path(),
        "other.csv",
        "wolke,art,baum\nclouds/a b.xyz,oak,t1\nclouds/ü.xyz,oak,t1\n",
    );
    fails(
        Kind::Csv,
        &d.path().join("other.csv"),
        &["there are wolke, art, baum", "--file-column"],
    );
    let named = options(|o| {
        o.columns.file = Some("wolke".into());
        o.columns.label = Some("art".into());
        o.columns.tree = Some("baum".into());
    });
    let (_, trees, _) = import(Kind::Csv, &d.path().join("other.csv"), &named).unwrap();
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
    let d = dir();
    put(d.path(), "oak/a.xyz", 10, 1);
    put(d.path(), "ash/b.xyz", 10, 2);
    text(
        d.path(),
        "oak/README.txt",
        "Scanned in 2019 with 3 tripods.\nSee the paper.\n",
    );
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
    let d = dir();
    put(d.path(), "oak/a.xyz", 100, 1);
    text(d.path(), "oak/b.xyz", &"1 2 3\n".repeat(40));
    text(d.path(), "ash/c.xyz", "1 2 3\n");
    let (_, trees, report) = import(Kind::Folder, d.path(), &Options::default()).unwrap();
    assert_eq!((trees.len(), report.trees, report.points), (3, 3, 141));
    let named = report
        .degenerate
        .iter()
        .map(|d| (d.path.to_str().unwrap(), &d.why));
    let [(ash, one), (oak, same)] = named.collect::<Vec<_>>()[..] else {
        panic!("{:?}", report.degenerate)
    };
    assert_eq!((ash, oak), ("ash/c.xyz", "oak/b.xyz"));
    assert!(
        one.contains("only one point") && same.contains("40 points"),
        "{one} {same}"
    );
}

#[test]
fn species_and_sizes_can_be_chosen() {
    let d = dir();
    put(d.path(), "oak/a.xyz", 100, 1);
    put(d.path(), "ash/b.xyz", 10, 2);
    put(d.path(), "elm/c.xyz", 200, 3);
    let two = options(|o| {
        o.species = vec!["elm".into(), "oak".into()];
        o.max_points = Some(150);
    });
    let (species, trees, report) = import(Kind::Folder, d.path(), &two).unwrap();
    assert_eq!(species, ["elm", "oak"]);
    assert_eq!((trees[0].1.len(), report.thinned), (150, 1));
    let unknown = options(|o| o.species = vec!["yew".into()]);
    let error = import(Kind::Folder, d.path(), &unknown).unwrap_err();
    assert_contains(&error, &["unknown label 'yew'", "ash, elm, oak"]);

    let few = options(|o| o.min_points = 50);
    let plan = import::plan(Kind::Folder, d.path(), &few).unwrap();
    let out = d.path().join("set");
    let (report, _) = import::to_shards(plan, Kind::Folder, &few, &out, &mut |_| Ok(())).unwrap();
    assert_eq!((report.trees, report.sparse), (2, 1));
    let data = canopy_data::shard::open(&out).unwrap();
    assert_eq!(
        data.species,
        ["elm", "oak"],
        "a species without trees has no label"
    );
}
