//! Real files, if there are any: LAS and LAZ of other programs, and IDTReeS against the summary that came with it.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

use canopy_data::{
    formats,
    import::{self, KINDS, Options},
};

/// Species with at least 64 points above 2 m on many trees.
const COMMON: [&str; 5] = ["ACRU", "PIPA2", "QUAL", "QUCO2", "QURU"];

/// The folder `name` of real data, in `CANOPY_REALDATA` or in `shared/realdata` beside the repository.
fn real_data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/realdata");
    let root = env::var_os("CANOPY_REALDATA").map_or_else(beside, PathBuf::from);
    let dir = root.join(name);
    if dir.is_dir() {
        return Some(dir);
    }
    println!(
        "not run, because {} does not exist: set CANOPY_REALDATA",
        dir.display()
    );
    None
}

#[test]
fn every_real_file_is_read_as_its_header_says() {
    let Some(dir) = real_data("") else { return };
    let mut files = import::point_files(&dir).unwrap();
    files.retain(|path| path.extension().is_some_and(|e| e == "las" || e == "laz"));
    assert!(!files.is_empty(), "{} holds no LAS or LAZ file", dir.display());
    for path in &files {
        // The header's number of points and box, which another program wrote, are those of the points.
        let (info, header) = (
            formats::info(path, true).unwrap(),
            formats::info(path, false).unwrap(),
        );
        assert_eq!(
            (info.count, &info.warnings[..]),
            (header.count, &[][..]),
            "{path:?}"
        );
    }
}

#[test]
fn the_trees_of_idtrees_are_those_of_the_summary() {
    let Some(dir) = real_data("idtrees") else { return };
    let mut rows = csv::Reader::from_path(dir.join("trees_index.csv")).unwrap();
    let rows = rows.deserialize::<BTreeMap<String, String>>().map(Result::unwrap);
    let index: BTreeMap<String, BTreeMap<String, String>> =
        rows.map(|row| (row["indvdID"].clone(), row)).collect();
    let above = |row: &BTreeMap<String, String>| row["n_points_above_2m"].parse::<usize>().unwrap();
    // Trees of 64 points or more, ours and the summary's; and trees on other plots than in the summary.
    let mut counts = BTreeMap::<&str, [usize; 2]>::new();
    for row in index.values() {
        counts.entry(&row["taxonID"]).or_default()[1] += usize::from(above(row) >= 64);
    }
    let (mut trees, mut elsewhere) = (0, 0);
    let plan = import::plan(&KINDS[0], &dir, &Options::default()).unwrap();
    let mut compare = |record: canopy_data::TreeRecord, cloud: canopy_data::Cloud| {
        trees += 1;
        // A few trees are not in the summary.
        let Some(row) = index.get(&record.tree) else {
            return Ok(());
        };
        assert_eq!(&plan.species[record.species], &row["taxonID"], "{}", record.tree);
        counts.get_mut(&*row["taxonID"]).unwrap()[0] += usize::from(cloud.len() >= 64);
        // Two plots each have a part of a few crowns; ours has the greater part. The summary does not say how it found the
        // ground; a few centimetres decide a few points.
        let near = cloud.len().abs_diff(above(row)) <= 20;
        elsewhere += usize::from(record.plot != row["plot"]);
        assert!(near || record.plot != row["plot"], "{record:?}");
        Ok(())
    };
    import::run(&plan, &Options::default(), &mut compare, &mut |_, _| Ok(())).unwrap();
    let none = index.values().filter(|row| above(row) == 0).count();
    assert!(
        elsewhere <= 3 && trees + none >= index.len() - 3,
        "{trees} trees, {elsewhere} elsewhere"
    );
    for name in COMMON {
        assert_eq!(counts[name][0], counts[name][1], "{name}");
    }
}
