//! The set is a problem worth a network: not solved by size, not given away, not hopeless.

use std::collections::BTreeSet;

use super::*;
use crate::{TreeRecord, species::SPECIES};

type Features = Vec<Vec<f64>>;

/// Share of scans whose species the `k` nearest scans on other plots name, by standardised `features`.
fn accuracy(records: &[TreeRecord], features: &Features, k: usize) -> f64 {
    let n = features.len() as f64;
    let scale: Vec<f64> = (0..features[0].len())
        .map(|c| {
            let mean = features.iter().map(|f| f[c]).sum::<f64>() / n;
            let variance = features.iter().map(|f| (f[c] - mean).powi(2)).sum::<f64>() / n;
            1.0 / variance.sqrt().max(1e-9)
        })
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
    right.count() as f64 / n
}

fn height(cloud: &Cloud) -> f64 {
    cloud.xyz.iter().map(|p| f64::from(p[2])).fold(0.0, f64::max)
}

/// Distances of the points from the cloud's middle axis.
fn radii(cloud: &Cloud) -> Vec<f64> {
    let n = cloud.len() as f64;
    let middle = [0, 1].map(|a| cloud.xyz.iter().map(|p| f64::from(p[a])).sum::<f64>() / n);
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
        [
            found.len() as f64 / cloud.len() as f64,
            quantile(found, 0.9) / top,
        ]
    };
    layers.into_iter().flat_map(facts).collect()
}

#[test]
fn only_the_crowns_shape_predicts_the_species_on_unseen_plots() {
    let of =
        |feature: &dyn Fn(&Cloud) -> Vec<f64>| -> Features { FOREST.clouds.iter().map(feature).collect() };
    let mean = |c: &Cloud| c.intensity.iter().map(|&i| f64::from(i)).sum::<f64>() / c.len() as f64;
    let numbers = FOREST.records.iter().map(|r| r.tree[5..].parse::<f64>().unwrap());
    for (what, features, neighbours, [least, most]) in [
        (
            "height and width",
            of(&|c| vec![height(c), 2.0 * quantile(radii(c), 0.98)]),
            &[1, 5, 15, 40][..],
            [0.15, 0.60],
        ),
        ("shape", of(&shape), &[9], [0.55, 0.95]),
        (
            "mean intensity",
            of(&|c| vec![libm::log(mean(c))]),
            &[5, 15, 40],
            [0.0, 0.30],
        ),
        ("name", numbers.map(|n| vec![n]).collect(), &[15], [0.0, 0.25]),
        (
            "place in the list",
            (0..FOREST.records.len()).map(|i| vec![i as f64]).collect(),
            &[15],
            [0.0, 0.25],
        ),
    ] {
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
    let mut sum = 0.0;
    for cloud in &FOREST.clouds {
        let half = cloud.len() / 2;
        let mean = |p: &[[f32; 3]]| p.iter().map(|p| f64::from(p[2])).sum::<f64>() / p.len() as f64;
        sum += (mean(&cloud.xyz[..half]) - mean(&cloud.xyz[half..])) / height(cloud);
        let ordered = cloud.xyz.windows(2).filter(|w| w[0][2] <= w[1][2]).count();
        assert!((180..332).contains(&ordered), "{ordered} of 511 steps go up");
    }
    let difference = sum / FOREST.clouds.len() as f64;
    assert!(
        difference.abs() < 0.005,
        "the first half lies {difference} of the height above the second"
    );
}

#[test]
fn nearly_every_plot_has_every_species_and_scans_of_a_tree_share_its_name() {
    let trees: Vec<Planned> = (0..Config::default().trees).map(|i| planned(1, i)).collect();
    let plots = |trees: &[&Planned]| {
        trees
            .iter()
            .map(|t| t.plot.clone())
            .collect::<BTreeSet<_>>()
            .len()
    };
    let all: Vec<&Planned> = trees.iter().collect();
    assert!(all.len() >= 700 && plots(&all) >= 10, "{} plots", plots(&all));
    for species in 0..SPECIES.len() {
        let of: Vec<&Planned> = trees.iter().filter(|t| t.species == species).collect();
        assert!(
            of.len() >= 80 && plots(&of) >= 12,
            "{species}: {} trees",
            of.len()
        );
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
