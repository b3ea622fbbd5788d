//! The set is a problem worth a network: not solved by size, not given away, not hopeless.

use super::*;
use crate::{TreeRecord, species::SPECIES};

/// Share of scans whose species the `k` nearest scans on other plots name, by standardised `features`.
fn accuracy(records: &[TreeRecord], features: &[Vec<f64>], k: usize) -> f64 {
    let n = features.len() as f64;
    let columns = features[0].len();
    let scale: Vec<f64> = (0..columns)
        .map(|c| {
            let mean = features.iter().map(|f| f[c]).sum::<f64>() / n;
            let variance = features
                .iter()
                .map(|f| (f[c] - mean) * (f[c] - mean))
                .sum::<f64>()
                / n;
            1.0 / variance.sqrt().max(1e-9)
        })
        .collect();
    let distance = |a: &[f64], b: &[f64]| -> f64 {
        (0..columns)
            .map(|c| ((a[c] - b[c]) * scale[c]) * ((a[c] - b[c]) * scale[c]))
            .sum()
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
    let from = |p: &[f32; 3]| [0, 1].map(|a| f64::from(p[a]) - middle[a]);
    cloud
        .xyz
        .iter()
        .map(from)
        .map(|d| (d[0] * d[0] + d[1] * d[1]).sqrt())
        .collect()
}

fn quantile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get((q * values.len() as f64) as usize)
        .copied()
        .unwrap_or(0.0)
}

#[test]
fn height_and_crown_width_alone_stay_under_sixty_percent_on_unseen_plots() {
    let size = |c: &Cloud| vec![height(c), 2.0 * quantile(radii(c), 0.98)];
    let features: Vec<Vec<f64>> = FOREST.clouds.iter().map(size).collect();
    for k in [1, 5, 15, 40] {
        let a = accuracy(&FOREST.records, &features, k);
        assert!(a < 0.60, "{k} nearest neighbours by size alone: {a}");
        assert!(a > 0.15, "{k} nearest neighbours by size say nothing at all: {a}");
    }
}

#[test]
fn the_shape_of_the_crown_names_most_trees_on_unseen_plots() {
    // Width and share of points in eight layers: far less than a network sees.
    let shape = |c: &Cloud| -> Vec<f64> {
        let (top, radii) = (height(c), radii(c));
        let layers = (0..8).flat_map(|layer| {
            let inside = |p: &&([f32; 3], f64)| ((f64::from(p.0[2]) / top * 8.0) as usize).min(7) == layer;
            let points: Vec<([f32; 3], f64)> = c.xyz.iter().copied().zip(radii.iter().copied()).collect();
            let found: Vec<f64> = points.iter().filter(inside).map(|p| p.1).collect();
            [found.len() as f64 / c.len() as f64, quantile(found, 0.9) / top]
        });
        layers.collect()
    };
    let features: Vec<Vec<f64>> = FOREST.clouds.iter().map(shape).collect();
    let a = accuracy(&FOREST.records, &features, 9);
    assert!(a > 0.55, "nine nearest neighbours by shape: {a}");
    assert!(
        a < 0.95,
        "nine nearest neighbours by shape leave nothing to learn: {a}"
    );
}

#[test]
fn intensity_does_not_predict_the_species() {
    let mean = |c: &Cloud| c.intensity.iter().map(|&i| f64::from(i)).sum::<f64>() / c.len() as f64;
    let features: Vec<Vec<f64>> = FOREST.clouds.iter().map(|c| vec![libm::log(mean(c))]).collect();
    for k in [5, 15, 40] {
        let a = accuracy(&FOREST.records, &features, k);
        assert!(a < 0.30, "{k} nearest neighbours by mean intensity: {a}");
    }
}

#[test]
fn names_and_positions_in_the_list_do_not_predict_the_species() {
    let number = |r: &TreeRecord| vec![r.tree[5..].parse::<f64>().unwrap()];
    let by_name: Vec<Vec<f64>> = FOREST.records.iter().map(number).collect();
    let by_place: Vec<Vec<f64>> = (0..FOREST.records.len()).map(|i| vec![i as f64]).collect();
    for features in [by_name, by_place] {
        let a = accuracy(&FOREST.records, &features, 15);
        assert!(a < 0.25, "15 nearest neighbours: {a}");
    }
    let repeats = FOREST
        .records
        .windows(2)
        .filter(|w| w[0].species == w[1].species)
        .count();
    let share = repeats as f64 / FOREST.records.len() as f64;
    assert!(share < 0.25, "{share} of the scans follow one of their species");
}

#[test]
fn points_come_in_no_order() {
    // Over many clouds, a point's height has nothing to do with its place in the list.
    let (mut sum, mut count) = (0.0, 0.0);
    for cloud in &FOREST.clouds {
        let half = cloud.len() / 2;
        let mean = |p: &[[f32; 3]]| p.iter().map(|p| f64::from(p[2])).sum::<f64>() / p.len() as f64;
        sum += (mean(&cloud.xyz[..half]) - mean(&cloud.xyz[half..])) / height(cloud);
        count += 1.0;
        let ordered = cloud.xyz.windows(2).filter(|w| w[0][2] <= w[1][2]).count();
        assert!((180..332).contains(&ordered), "{ordered} of 511 steps go up");
    }
    assert!(
        (sum / count).abs() < 0.005,
        "the first half lies {} of the height above the second",
        sum / count
    );
}

#[test]
fn nearly_every_plot_has_every_species_and_scans_of_a_tree_share_its_name() {
    let trees: Vec<Planned> = (0..Config::default().trees).map(|i| planned(1, i)).collect();
    let plots: std::collections::BTreeSet<&str> = trees.iter().map(|t| t.plot.as_str()).collect();
    assert!(
        trees.len() >= 700 && plots.len() >= 10,
        "{} trees, {} plots",
        trees.len(),
        plots.len()
    );
    for species in 0..SPECIES.len() {
        let of: Vec<&Planned> = trees.iter().filter(|t| t.species == species).collect();
        let on: std::collections::BTreeSet<&str> = of.iter().map(|t| t.plot.as_str()).collect();
        assert!(
            of.len() >= 80 && on.len() >= 12,
            "{species}: {} trees on {} plots",
            of.len(),
            on.len()
        );
    }
    let names: std::collections::BTreeSet<&str> = trees.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names.len(), trees.len());
    let twice = trees.iter().filter(|t| t.scans.len() == 2).count();
    assert!(twice >= 40, "{twice} trees are scanned twice");
    for r in FOREST.records.iter() {
        let same = FOREST.records.iter().filter(|o| o.tree == r.tree);
        assert!(same.clone().all(|o| o.plot == r.plot && o.species == r.species));
        assert!(same.count() <= 2);
    }
}
