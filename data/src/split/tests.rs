use std::{collections::HashSet, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{Cloud, TreeRecord};

/// A set of (tree, species, plot).
fn set(rows: &[(usize, usize, usize)]) -> Dataset {
    let species = rows.iter().map(|r| r.1).max().map_or(0, |m| m + 1);
    let record = |&(tree, species, plot): &(usize, usize, usize)| TreeRecord {
        tree: format!("tree{tree}"),
        species,
        plot: format!("plot{plot}"),
        ..TreeRecord::default()
    };
    let (records, clouds) = (rows.iter().map(record).collect(), Vec::<Cloud>::new());
    let names = (0..species).map(|s| format!("species{s}")).collect();
    Dataset::new("made".into(), names, records, String::new(), Arc::new(clouds))
}

fn forest(plots: usize, each: usize, species: usize) -> Dataset {
    let row = |t: usize| (t, (t * 5 + t / each) % species, t / each);
    set(&Vec::from_iter((0..plots * each).map(row)))
}

fn plots<'a>(data: &'a Dataset, part: &[usize]) -> HashSet<&'a str> {
    part.iter().map(|&r| data.records[r].plot.as_str()).collect()
}

const SHARES: Shares = Shares {
    validation: 0.25,
    test: 0.15,
};

proptest! {
    #[test]
    fn no_plot_and_no_tree_is_in_two_parts(
        rows in prop::collection::vec((0usize..60, 0usize..5, 0usize..9), 30..120),
        seed: u64,
        test in prop::sample::select(vec![0.0, 0.2]),
    ) {
        let data = set(&rows);
        let Ok(split) = by_plot(&data, Shares { validation: 0.25, test }, seed) else { return Ok(()) };
        let by_tree = split.warnings.iter().any(|w| w.contains("split by tree"));
        let parts = split.parts();
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let trees = |p: usize| HashSet::<&str>::from_iter(parts[p].1.iter().map(|&r| &*data.records[r].tree));
            prop_assert!(trees(a).is_disjoint(&trees(b)));
            let [a, b] = [a, b].map(|p| plots(&data, parts[p].1));
            prop_assert!(by_tree || a.is_disjoint(&b));
        }
        let mut all: Vec<usize> = parts.iter().flat_map(|p| p.1.iter().copied()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..rows.len()).collect::<Vec<_>>());
    }

    #[test]
    fn folds_hold_each_record_once(count in 5usize..14, seed: u64) {
        let data = forest(count, 20, 4);
        let mut seen = Vec::new();
        for fold in 0..5 {
            let split = folds(&data, 5, fold, seed).unwrap();
            prop_assert_eq!(split.train.len() + split.test.len(), data.len());
            prop_assert!(plots(&data, &split.train).is_disjoint(&plots(&data, &split.test)));
            seen.extend(split.test);
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..data.len()).collect::<Vec<_>>());
    }
}

#[test]
fn shares_come_near_every_species_is_in_every_part_and_the_seed_decides() {
    let data = forest(13, 56, 7);
    let mut different = HashSet::new();
    for seed in 0..20 {
        let split = by_plot(&data, SHARES, seed).unwrap();
        assert!(split.warnings.is_empty(), "{:?}", split.warnings);
        for (part, share) in split.parts().iter().zip([0.6, 0.25, 0.15]) {
            let got = part.1.len() as f64 / data.len() as f64;
            assert!((got - share).abs() < 0.06, "seed {seed}: {} got {got}", part.0);
            assert!(species_counts(&data, part.1).iter().all(|&n| n > 0));
        }
        assert_eq!(split, by_plot(&data, SHARES, seed).unwrap());
        different.insert(split.validation);
    }
    assert!(different.len() > 6, "{} splits of 20 seeds", different.len());
}

#[test]
fn a_species_on_one_plot_trains_and_a_tree_on_two_plots_unites_them() {
    let mut rows: Vec<_> = (0..80).map(|t| (t, t % 2, t / 10)).collect();
    rows.extend([(99, 2, 4), (0, 0, 3)]);
    let mut data = set(&rows);
    data.species[2] = "validation-3".into();
    for (part, validation, test) in [("validation", 0.25, 0.0), ("test", 0.0, 0.25)] {
        for seed in 0..10 {
            let split = by_plot(&data, Shares { validation, test }, seed).unwrap();
            assert!(split.train.contains(&80));
            let warning = format!("validation-3: none in {part}, because it grows on 1 plot");
            assert_eq!(split.warnings, [warning]);
            let train = plots(&data, &split.train);
            assert_eq!(train.contains("plot0"), train.contains("plot3"));
        }
    }
}

#[test]
fn without_plots_trees_are_split_and_a_set_that_cannot_be_split_says_why() {
    let one_plot: Vec<_> = (0..40).map(|t| (t, t % 4, 0)).collect();
    let own_plots: Vec<_> = (0..40).map(|t| (t, t % 4, t)).collect();
    for rows in [one_plot, own_plots] {
        let split = by_plot(&set(&rows), SHARES, 5).unwrap();
        assert!(split.warnings[0].contains("split by tree"));
        assert_eq!(split.validation.len(), 10);
    }
    let few = &forest(3, 4, 2);
    let all = Shares {
        validation: 1.0,
        test: 0.0,
    };
    for (result, part) in [
        (by_plot(&set(&[]), SHARES, 0), "no records"),
        (by_plot(&set(&[(0, 0, 0)]), SHARES, 0), "too few for 3 parts"),
        (by_plot(few, all, 0), "leave nothing"),
        (folds(few, 5, 0, 0), "3 plots: too few for 5"),
        (folds(few, 3, 3, 0), "count from 0 to 2"),
        (folds(few, 1, 0, 0), "at least 2"),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn class_weights_are_inverse_to_counts_with_mean_one() {
    let w = class_weights(&[10, 30, 0, 60]);
    assert_eq!(w[2], 0.0);
    approx::assert_relative_eq!(w[0] / w[1], 3.0, epsilon = 1e-6);
    approx::assert_relative_eq!(w.iter().sum::<f32>() / 3.0, 1.0, epsilon = 1e-6);
    assert_eq!(class_weights(&[0, 0]), [0.0, 0.0]);
}
