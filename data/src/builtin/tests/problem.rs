//! The set is a problem worth a network: not solved by size, not given away, not hopeless.

use std::collections::BTreeSet;

use super::*;
use crate::species::SPECIES;

type Features = Vec<Vec<f64>>;

/// Share of scans whose species the `k` nearest scans on other plots name, by standardised `features`.
fn accuracy(records: &[TreeRecord], features: &Features, k: usize) -> f64 {
    let deviation = |c: usize| {
        let middle = mean(features.iter().map(|f| f[c]));
        mean(features.iter().map(|f| (f[c] - middle).powi(2))).sqrt()
    };
    let scale: Vec<f64> = (0..features[0].len())
        .map(|c| 1.0 / deviation(c).max(1e-9))
        .collect();
    let distance = |a: &[f64], b: &[f64]| -> f64 {
        let differences = a.iter().zip(b).zip(&scale).map(|((a, b), s)| (a - b) * s);
        differences.map(|d| d * d).sum()
    };
    let right = (0..records.len()).filter(|&i| {
        let mut others: Vec<(f64, usize)> = (0..records.len())
            .filter(|&j| records[j].plot != records[i].plot)
            .map(|j| (distance(&features[i], &features[j]), records[j].species))
            .collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut votes = [0; SPECIES.len()];
        others.iter().take(k).for_each(|&(_, s)| votes[s] += 1);
        let named = (0..votes.len()).max_by_key(|&s| votes[s]);
        named == Some(records[i].species)
    });
    right.count() as f64 / features.len() as f64
}

fn height(cloud: &Cloud) -> f64 {
    cloud.xyz.iter().map(|p| f64::from(p[2])).fold(0.0, f64::max)
}

/// Distances of the points from the cloud's middle axis.
fn radii(cloud: &Cloud) -> Vec<f64> {
    let middle = [0, 1].map(|a| mean(cloud.xyz.iter().map(|p| f64::from(p[a]))));
    let radius = |p: &[f32; 3]| (f64::from(p[0]) - middle[0]).hypot(f64::from(p[1]) - middle[1]);
    cloud.xyz.iter().map(radius).collect()
}

fn quantile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (q * values.len() as f64) as usize;
    values.get(at).copied().unwrap_or(0.0)
}

/// Width and share of points in eight layers: far less than a network sees.
fn shape(cloud: &Cloud) -> Vec<f64> {
    let (top, radii) = (height(cloud), radii(cloud));
    let mut layers = vec![Vec::new(); 8];
    for (p, radius) in cloud.xyz.iter().zip(radii) {
        layers[((f64::from(p[2]) / top * 8.0) as usize).min(7)].push(radius);
    }
    let facts = |found: Vec<f64>| {
        let share = found.len() as f64 / cloud.len() as f64;
        [share, quantile(found, 0.9) / top]
    };
    layers.into_iter().flat_map(facts).collect()
}

#[test]
fn only_the_crowns_shape_predicts_the_species_on_unseen_plots() {
    let of = |feature: &dyn Fn(&Cloud) -> Vec<f64>| -> Features { scans().map(|s| feature(s.1)).collect() };
    let size = of(&|c| vec![height(c), 2.0 * quantile(radii(c), 0.98)]);
    let light = of(&|c| vec![libm::log(mean(c.intensity.iter().map(|&i| f64::from(i))))]);
    let name = scans().map(|s| vec![s.0.tree[5..].parse().unwrap()]).collect();
    let place = (0..FOREST.records.len()).map(|i| vec![i as f64]).collect();
    let cases: [(&str, Features, &[usize], [f64; 2]); 5] = [
        ("height and width", size, &[1, 5, 15, 40], [0.15, 0.60]),
        ("shape", of(&shape), &[9], [0.55, 0.95]),
        ("mean intensity", light, &[5, 15, 40], [0.0, 0.30]),
        ("name", name, &[15], [0.0, 0.25]),
        ("place in the list", place, &[15], [0.0, 0.25]),
    ];
    for (what, features, neighbours, [least, most]) in cases {
        for &k in neighbours {
            let a = accuracy(&FOREST.records, &features, k);
            assert!(least <= a && a < most, "{k} nearest neighbours by {what}: {a}");
        }
    }
    let same = |w: &&[TreeRecord]| w[0].species == w[1].species;
    let repeats = FOREST.records.windows(2).filter(same).count();
    let share = repeats as f64 / FOREST.records.len() as f64;
    assert!(share < 0.25, "{share} of the scans follow one of their species");
}

#[test]
fn points_come_in_no_order() {
    // Over many clouds, a point's height has nothing to do with its place in the list.
    let difference = |cloud: &Cloud| {
        let (first, second) = cloud.xyz.split_at(cloud.len() / 2);
        let [first, second] = [first, second].map(|p| mean(p.iter().map(|p| f64::from(p[2]))));
        let ordered = cloud.xyz.windows(2).filter(|w| w[0][2] <= w[1][2]).count();
        assert!((180..332).contains(&ordered), "{ordered} of 511 steps go up");
        (first - second) / height(cloud)
    };
    let difference = mean(FOREST.clouds.iter().map(difference));
    let message = "of the height lies the first half above the second";
    assert!(difference.abs() < 0.005, "{difference} {message}");
}

#[test]
fn nearly_every_plot_has_every_species_and_scans_of_a_tree_share_its_name() {
    let trees: Vec<Planned> = (0..Config::default().trees).map(|i| plan::tree(1, i)).collect();
    for species in 0..SPECIES.len() {
        let of = trees.iter().filter(|t| t.species == species);
        let plots: BTreeSet<&str> = of.clone().map(|t| t.plot.as_str()).collect();
        let (of, plots) = (of.count(), plots.len());
        assert!(of >= 80 && plots >= 12, "{species}: {of} trees on {plots} plots");
    }
    let names: BTreeSet<&str> = trees.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names.len(), trees.len());
    let twice = trees.iter().filter(|t| t.scans.len() == 2).count();
    assert!(twice >= 40, "{twice} trees are scanned twice");
    for r in &FOREST.records {
        let same = FOREST.records.iter().filter(|o| o.tree == r.tree);
        assert!(same.clone().all(|o| o.plot == r.plot && o.species == r.species));
        assert!(same.count() <= 2);
    }
}
