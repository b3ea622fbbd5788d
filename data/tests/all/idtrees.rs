//! The real IDTReeS data, if they exist beside the repository, against the summary that came with them.

use std::collections::{BTreeMap, BTreeSet};

use canopy_data::{
    import::{self, Kind, Options},
    shard, split,
};

use crate::real_data;

/// Species with at least 64 points above 2 m on many trees.
const COMMON: [&str; 5] = ["ACRU", "PIPA2", "QUAL", "QUCO2", "QURU"];

#[test]
fn the_trees_are_those_of_the_summary_with_the_same_labels_and_nearly_the_same_points() {
    let Some(dir) = real_data("idtrees") else { return };
    let options = Options::default();
    let plan = import::plan(Kind::Idtrees, &dir, &options).unwrap();
    let mut trees = Vec::new();
    let mut keep = |record, cloud| {
        trees.push((record, cloud));
        Ok(())
    };
    import::run(&plan, &options, &mut keep, &mut |_| Ok(())).unwrap();

    let mut rows = csv::Reader::from_path(dir.join("trees_index.csv")).unwrap();
    let rows = rows.deserialize::<BTreeMap<String, String>>().map(Result::unwrap);
    let index: BTreeMap<String, BTreeMap<String, String>> =
        rows.map(|row| (row["indvdID"].clone(), row)).collect();
    let above = |row: &BTreeMap<String, String>| row["n_points_above_2m"].parse::<usize>().unwrap();

    let (mut off, mut elsewhere) = (Vec::new(), 0);
    // Trees of 64 points or more, ours and the summary's.
    let mut counts = BTreeMap::<&str, [usize; 2]>::new();
    for row in index.values() {
        counts.entry(&row["taxonID"]).or_default()[1] += usize::from(above(row) >= 64);
    }
    for (record, cloud) in &trees {
        let species = &plan.species[record.species];
        // A few trees are not in the summary.
        let Some(row) = index.get(&record.tree) else {
            continue;
        };
        assert_eq!(species, &row["taxonID"], "{}", record.tree);
        counts.entry(species).or_default()[0] += usize::from(cloud.len() >= 64);
        if record.plot == row["plot"] {
            off.push(cloud.len().abs_diff(above(row)));
        } else {
            // Two plots each have a part of these crowns; ours has the greater part.
            elsewhere += 1;
        }
    }
    let none = index.values().filter(|row| above(row) == 0).count();
    println!(
        "{} trees of {}, {elsewhere} of other plots: {counts:?}",
        trees.len(),
        index.len()
    );
    assert!(elsewhere <= 3, "{elsewhere} trees of other plots");
    assert!(trees.len() + none >= index.len() - 3);
    // The summary does not say how it found the ground; a few centimetres decide a few points.
    assert!(off.iter().all(|&d| d <= 20), "{off:?}");
    for name in COMMON {
        let [ours, theirs] = counts[name];
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn five_species_of_64_points_make_folds_by_plot() {
    let Some(dir) = real_data("idtrees") else { return };
    let options = Options {
        species: COMMON.map(str::to_owned).to_vec(),
        min_points: 64,
        ..Options::default()
    };
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("set");
    let plan = import::plan(Kind::Idtrees, &dir, &options).unwrap();
    let (report, _) = import::to_shards(plan, Kind::Idtrees, &options, &to, &mut |_| Ok(())).unwrap();
    let data = shard::open(&to).unwrap();
    assert_eq!(data.species, COMMON);
    assert_eq!(data.len(), report.trees);
    let plots: BTreeSet<_> = data.records.iter().map(|r| &r.plot).collect();
    println!("{} trees on {} plots", data.len(), plots.len());
    for fold in 0..5 {
        let split = split::folds(&data, 5, fold, 0).unwrap();
        assert!(split.warnings.is_empty(), "{:?}", split.warnings);
    }
    for i in 0..data.len() {
        let cloud = data.cloud(i).unwrap();
        assert!(cloud.len() >= 64 && cloud.bounds().unwrap().min[2] > 2.0);
    }
}
