//! The real IDTReeS data, if they exist beside the repository, against the summary that came with them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use canopy_data::{
    Cloud, TreeRecord,
    import::{self, Kind, Options},
};

use crate::real_data;

fn trees(dir: &Path, options: &Options) -> (Vec<String>, Vec<(TreeRecord, Cloud)>) {
    let plan = import::plan(Kind::Idtrees, dir, options).unwrap();
    let mut trees = Vec::new();
    import::run(&plan, options, &mut trees, &mut |_| Ok(())).unwrap();
    (plan.species, trees)
}

/// tree → (taxon, plot, points above 2 m) by `trees_index.csv`.
fn index(dir: &Path) -> BTreeMap<String, (String, String, usize)> {
    let mut rows = csv::Reader::from_path(dir.join("trees_index.csv")).unwrap();
    let rows = rows.deserialize::<BTreeMap<String, String>>().map(Result::unwrap);
    rows.map(|r| {
        let above = r["n_points_above_2m"].parse().unwrap();
        (
            r["indvdID"].clone(),
            (r["taxonID"].clone(), r["plot"].clone(), above),
        )
    })
    .collect()
}

#[test]
fn the_trees_are_those_of_the_summary_with_the_same_labels_and_nearly_the_same_points() {
    let Some(dir) = real_data("idtrees") else { return };
    let (species, trees) = trees(&dir, &Options::default());
    let index = index(&dir);
    let (mut off, mut counts) = (Vec::new(), BTreeMap::<&str, [usize; 2]>::new());
    let mut elsewhere = 0;
    for (record, cloud) in &trees {
        let Some((taxon, plot, above)) = index.get(&record.tree) else {
            let (name, n) = (&species[record.species], cloud.len());
            println!("{} ({name}, {n} points) is not in the summary", record.tree);
            continue;
        };
        assert_eq!(&species[record.species], taxon, "{}", record.tree);
        counts.entry(taxon).or_default()[0] += usize::from(cloud.len() >= 64);
        if &record.plot != plot {
            // Two plots each hold a part of these crowns; ours holds the greater part.
            println!(
                "{} is of {} here and of {plot} in the summary",
                record.tree, record.plot
            );
            elsewhere += 1;
            continue;
        }
        off.push(cloud.len().abs_diff(*above));
    }
    for (taxon, _, above) in index.values() {
        counts.entry(taxon).or_default()[1] += usize::from(*above >= 64);
    }
    let none = index.values().filter(|t| t.2 == 0).count();
    println!(
        "{} trees of {} ({none} of the summary's have no point above 2 m)",
        trees.len(),
        index.len()
    );
    let equal = off.iter().filter(|&&d| d == 0).count();
    println!(
        "points above 2 m: {equal} equal, most {} apart",
        off.iter().max().unwrap()
    );
    println!("trees with 64 points or more, ours and the summary's: {counts:?}");
    assert!(elsewhere <= 3, "{elsewhere} trees of other plots");
    assert!(trees.len() + none >= index.len() - 3);
    // The summary does not say how it found the ground; a few centimetres decide a few points.
    assert!(*off.iter().max().unwrap() <= 20);
    for name in ["QURU", "ACRU", "QUAL", "PIPA2", "QUCO2"] {
        let [ours, theirs] = counts[name];
        assert!(ours == theirs, "{name}: {ours} and {theirs}");
    }
}

#[test]
fn five_species_of_64_points_make_folds_by_plot() {
    let Some(dir) = real_data("idtrees") else { return };
    let wanted = ["QURU", "ACRU", "QUAL", "PIPA2", "QUCO2"];
    let options = Options {
        species: wanted.map(str::to_owned).to_vec(),
        min_points: 64,
        ..Options::default()
    };
    let out = tempfile::tempdir().unwrap();
    let plan = import::plan(Kind::Idtrees, &dir, &options).unwrap();
    let to = out.path().join("set");
    let (report, _) = import::to_shards(plan, Kind::Idtrees, &options, &to, &mut |_| Ok(())).unwrap();
    let data = canopy_data::shard::open(&to).unwrap();
    assert_eq!(data.species, ["ACRU", "PIPA2", "QUAL", "QUCO2", "QURU"]);
    assert_eq!(data.len(), report.trees);
    let plots: BTreeSet<_> = data.records.iter().map(|r| &r.plot).collect();
    println!("{} trees on {} plots: {:?}", data.len(), plots.len(), {
        let all: Vec<usize> = (0..data.len()).collect();
        canopy_data::split::species_counts(&data, &all)
    });
    for fold in 0..5 {
        let split = canopy_data::split::folds(&data, 5, fold, 0).unwrap();
        assert!(split.warnings.is_empty(), "{:?}", split.warnings);
        println!(
            "fold {fold}: {:?}",
            canopy_data::split::species_counts(&data, &split.validation)
        );
    }
    for i in 0..data.len() {
        let cloud = data.cloud(i).unwrap();
        assert!(cloud.len() >= 64 && cloud.bounds().unwrap().min[2] > 2.0);
    }
}
