//! The trees themselves: the same everywhere, sound, and of the size of their kind.

use super::*;
use crate::{Scan, Season, Site, growth};

/// If this digest changes, the forest has changed: increase `GENERATOR` too, so that old caches are not used.
const DIGEST: &str = "e418abe1eb8f2ff8a50619dee008b1a4d96c2c8858357931479e56dc895a1f6d";

#[test]
fn the_same_seed_gives_the_same_bytes_on_every_machine() {
    let set = made(&small()).dataset().unwrap();
    assert_eq!((GENERATOR, set.digest.as_str()), (4, DIGEST));
}

#[test]
fn threads_do_not_change_a_byte() {
    let digest = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| made(&small()).dataset().unwrap().digest)
    };
    assert_eq!(digest(1), digest(3));
}

#[test]
fn a_longer_plan_begins_with_a_shorter_one_and_another_seed_is_another_forest() {
    let few = made(&Config { trees: 3, ..small() });
    let more = made(&small());
    for (record, cloud) in few.records.iter().zip(&few.clouds) {
        let same = |(r, c): (&crate::TreeRecord, &Cloud)| r == record && c == cloud;
        assert!(
            more.records.iter().zip(&more.clouds).any(same),
            "{record:?} has changed"
        );
    }
    let other = made(&Config { seed: 6, ..small() });
    assert_ne!(other.clouds[0], more.clouds[0]);
}

#[test]
fn every_scan_is_sound_and_of_the_asked_number_of_points() {
    for (record, cloud) in FOREST.records.iter().zip(&FOREST.clouds) {
        cloud.validate().unwrap();
        assert_eq!(
            (cloud.len(), cloud.intensity.len(), cloud.returns.len()),
            (512, 512, 512)
        );
        let b = cloud.bounds().unwrap();
        assert!(
            b.min[2] >= 0.0 && (4.0..50.0).contains(&b.max[2]),
            "{record:?}: heights {b:?}"
        );
        for a in 0..2 {
            assert!(
                b.max[a].abs() < 20.0 && b.min[a].abs() < 20.0,
                "{record:?}: {b:?}"
            );
        }
        assert!(
            cloud
                .returns
                .iter()
                .all(|r| r.number >= 1 && r.number <= r.of && r.of <= 8)
        );
        assert!(cloud.intensity.iter().all(|&i| i > 0));
    }
}

#[test]
fn sizes_are_those_of_their_kind_and_overlap() {
    let mut means = Vec::new();
    for species in &SPECIES {
        let standing = growth::Standing {
            diameter: 30.0,
            site: 1.0,
            crowding: 0.4,
            age: 0.5,
            leaves: true,
        };
        let mut rng = crate::Philox::new(2, 9);
        let sizes: Vec<growth::Size> = (0..200)
            .map(|_| growth::Size::draw(&species.habit, &standing, &mut rng))
            .collect();
        let mean = |f: fn(&growth::Size) -> f64| sizes.iter().map(f).sum::<f64>() / 200.0;
        let (height, width) = (mean(|s| s.height), mean(|s| 2.0 * s.crown_radius));
        // A dominant tree of 30 cm in a managed stand.
        assert!(
            (18.0..30.0).contains(&height),
            "{}: {height} m high",
            species.name
        );
        assert!(
            (4.0..12.0).contains(&width),
            "{}: crown {width} m wide",
            species.name
        );
        assert!(
            sizes
                .iter()
                .all(|s| s.crown_base > 0.0 && s.crown_base < s.height)
        );
        means.push(height);
    }
    let spread = means.iter().fold(0.0f64, |a, &m| a.max(m)) - means.iter().fold(99.0f64, |a, &m| a.min(m));
    assert!(spread < 8.0, "mean heights at one diameter lie {spread} m apart");
}

#[test]
fn a_tree_grows_to_the_size_it_was_meant_to() {
    let standing = growth::Standing {
        diameter: 25.0,
        site: 1.0,
        crowding: 0.3,
        age: 0.4,
        leaves: true,
    };
    for (k, species) in SPECIES.iter().enumerate() {
        let tree = growth::grow(species, &standing, &mut crate::Philox::new(4, k as u64));
        let top = tree.wood.iter().map(|s| s.to.z).fold(0.0, f64::max);
        assert!(
            (0.8..1.1).contains(&(top / tree.size.height)),
            "{}: top at {top}",
            species.name
        );
        let breast = tree
            .wood
            .iter()
            .find(|s| s.from.z < 1.3 && s.to.z >= 1.3)
            .unwrap();
        assert!(
            (breast.radius[1] - 0.125).abs() < 0.005,
            "{}: {breast:?}",
            species.name
        );
        assert!(
            tree.wood.iter().all(|s| s.radius[1] <= s.radius[0] + 1e-9),
            "{}",
            species.name
        );
        let winter = growth::Standing {
            leaves: false,
            ..standing
        };
        let bare = growth::grow(species, &winter, &mut crate::Philox::new(4, k as u64))
            .leaves
            .is_empty();
        assert_eq!(bare, !species.habit.conifer, "{}", species.name);
    }
}

#[test]
fn the_inventory_has_the_trees_own_measures() {
    for (record, cloud) in FOREST.records.iter().zip(&FOREST.clouds) {
        let known = record.inventory.unwrap();
        let top = cloud.xyz.iter().map(|p| p[2]).fold(0.0, f32::max);
        assert!(
            top < known.height + 0.6,
            "{}: a point at {top} m, and {known:?}",
            record.tree
        );
        let cylinder = 0.25 * std::f32::consts::PI * known.diameter.powi(2) * known.height;
        let form = known.volume / cylinder;
        assert!((0.25..0.9).contains(&form), "{}: form factor {form}", record.tree);
        assert!((0.08..=0.75).contains(&known.diameter), "{known:?}");
    }
    let twice = FOREST.records.iter().enumerate().find_map(|(i, a)| {
        let b = FOREST.records[..i].iter().find(|b| b.tree == a.tree)?;
        Some((a, b))
    });
    let (a, b) = twice.unwrap();
    assert_eq!(a.inventory, b.inventory, "two scans of {}", a.tree);
    for season in [Season::Summer, Season::Winter] {
        assert!(
            FOREST
                .records
                .iter()
                .any(|r| r.inventory.unwrap().season == season)
        );
    }
    for site in [Site::Poor, Site::Medium, Site::Good] {
        assert!(FOREST.records.iter().any(|r| r.inventory.unwrap().site == site));
    }
}

#[test]
fn from_the_ground_more_is_seen_below_than_from_the_air() {
    let mean = |scan: Scan| {
        let heights: Vec<f64> = FOREST
            .records
            .iter()
            .zip(&FOREST.clouds)
            .filter(|(r, _)| r.scan == scan)
            .map(|(_, c)| {
                let top = c.xyz.iter().map(|p| p[2]).fold(0.0, f32::max);
                c.xyz.iter().map(|p| f64::from(p[2] / top)).sum::<f64>() / c.len() as f64
            })
            .collect();
        heights.iter().sum::<f64>() / heights.len() as f64
    };
    let (tls, uls, als) = (mean(Scan::Tls), mean(Scan::Uls), mean(Scan::Als));
    assert!(
        tls + 0.05 < uls && tls + 0.05 < als,
        "mean relative heights {tls} {uls} {als}"
    );
}

#[test]
fn a_whole_scan_has_more_than_a_million_points() {
    let index = (0..50).find(|&i| planned(1, i).scans[0] == Scan::Tls).unwrap();
    let cloud = tree(1, index, Resolution::Full).unwrap();
    cloud.validate().unwrap();
    assert!(cloud.len() > 1_000_000, "{} points", cloud.len());
    let few = tree(1, index, Resolution::Sampled(1024)).unwrap();
    assert_eq!(few.len(), 1024);
}
