//! The trees themselves: the same everywhere, sound, and of the size of their kind.

use super::*;
use crate::{Scan, Season, Site, growth};

/// If these digests, of a small and of a large forest, change, the forest has changed: increase `GENERATOR` too, so that old
/// caches are not used.
const DIGEST: &str = "e418abe1eb8f2ff8a50619dee008b1a4d96c2c8858357931479e56dc895a1f6d";
const DIGEST_OF_FOREST: &str = "0f31ecb1658f6e38c8455765c136b6facfc20a0c87597025d1deb6af057f36f3";

#[test]
fn the_same_seed_gives_the_same_bytes_on_every_machine_and_any_threads() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        let digest = pool.install(|| made(&small()).dataset().unwrap().digest);
        assert_eq!((GENERATOR, digest.as_str()), (4, DIGEST), "{threads} threads");
    }
    let forest = make::Made {
        records: FOREST.records.clone(),
        clouds: FOREST.clouds.clone(),
    };
    assert_eq!(forest.dataset().unwrap().digest, DIGEST_OF_FOREST);
}

#[test]
fn a_longer_plan_begins_with_a_shorter_one_and_another_seed_is_another_forest() {
    let few = made(&Config { trees: 3, ..small() });
    let more = made(&small());
    for (record, cloud) in few.records.iter().zip(&few.clouds) {
        let mut all = more.records.iter().zip(&more.clouds);
        assert!(all.any(|one| one == (record, cloud)), "{record:?} has changed");
    }
    let other = made(&Config { seed: 6, ..small() });
    assert_ne!(other.clouds[0], more.clouds[0]);
}

#[test]
fn every_scan_is_sound_and_has_the_trees_own_measures() {
    let (mut seasons, mut sites) = (Vec::new(), Vec::new());
    for (record, cloud) in FOREST.records.iter().zip(&FOREST.clouds) {
        cloud.validate().unwrap();
        assert_eq!(
            [cloud.len(), cloud.intensity.len(), cloud.returns.len()],
            [512; 3]
        );
        let b = cloud.bounds().unwrap();
        assert!(
            b.min[2] >= 0.0 && (4.0..50.0).contains(&b.max[2]),
            "{record:?}: {b:?}"
        );
        let sides = [b.min[0], b.min[1], b.max[0], b.max[1]];
        assert!(sides.iter().all(|v| v.abs() < 20.0), "{record:?}: {b:?}");
        let mut returns = cloud.returns.iter();
        assert!(returns.all(|r| r.number >= 1 && r.number <= r.of && r.of <= 8));
        assert!(cloud.intensity.iter().all(|&i| i > 0));

        let known = record.inventory.unwrap();
        assert!(b.max[2] < known.height + 0.6, "{}: {b:?}, {known:?}", record.tree);
        let cylinder = 0.25 * std::f32::consts::PI * known.diameter.powi(2) * known.height;
        let form = known.volume / cylinder;
        assert!((0.25..0.9).contains(&form), "{}: form factor {form}", record.tree);
        assert!((0.08..=0.75).contains(&known.diameter), "{known:?}");
        let scans = FOREST.records.iter().filter(|r| r.tree == record.tree);
        assert!(scans.map(|r| r.inventory).all(|i| i == record.inventory));
        seasons.push(known.season);
        sites.push(known.site);
    }
    assert!(
        [Season::Summer, Season::Winter]
            .iter()
            .all(|s| seasons.contains(s))
    );
    assert!(
        [Site::Poor, Site::Medium, Site::Good]
            .iter()
            .all(|s| sites.contains(s))
    );
}

/// A dominant tree of `diameter` cm in a managed stand.
fn standing(diameter: f64) -> growth::Standing {
    growth::Standing {
        diameter,
        site: 1.0,
        crowding: 0.4,
        age: 0.5,
        leaves: true,
    }
}

#[test]
fn sizes_are_those_of_their_kind_and_overlap() {
    let mut means = Vec::new();
    for species in &SPECIES {
        let mut rng = crate::Philox::new(2, 9);
        let sizes: Vec<growth::Size> = (0..200)
            .map(|_| growth::Size::draw(&species.habit, &standing(30.0), &mut rng))
            .collect();
        let mean = |f: fn(&growth::Size) -> f64| sizes.iter().map(f).sum::<f64>() / 200.0;
        let (height, width) = (mean(|s| s.height), mean(|s| 2.0 * s.crown_radius));
        assert!(
            (18.0..30.0).contains(&height),
            "{}: {height} m high",
            species.name
        );
        assert!((4.0..12.0).contains(&width), "{}: {width} m wide", species.name);
        assert!(
            sizes
                .iter()
                .all(|s| s.crown_base > 0.0 && s.crown_base < s.height)
        );
        means.push(height);
    }
    means.sort_by(f64::total_cmp);
    let spread = means[means.len() - 1] - means[0];
    assert!(spread < 8.0, "mean heights at one diameter lie {spread} m apart");
}

#[test]
fn a_tree_grows_to_the_size_it_was_meant_to() {
    for (k, species) in SPECIES.iter().enumerate() {
        let name = species.name;
        let grow = |standing| growth::grow(species, &standing, &mut crate::Philox::new(4, k as u64));
        let tree = grow(standing(25.0));
        let top = tree.wood.iter().map(|s| s.to.z).fold(0.0, f64::max);
        assert!(
            (0.8..1.1).contains(&(top / tree.size.height)),
            "{name}: top at {top}"
        );
        let mut wood = tree.wood.iter();
        let breast = wood.find(|s| s.from.z < 1.3 && s.to.z >= 1.3).unwrap();
        assert!((breast.radius[1] - 0.125).abs() < 0.005, "{name}: {breast:?}");
        assert!(
            tree.wood.iter().all(|s| s.radius[1] <= s.radius[0] + 1e-9),
            "{name}"
        );
        let bare = grow(growth::Standing {
            leaves: false,
            ..standing(25.0)
        });
        assert_eq!(bare.leaves.is_empty(), !species.habit.conifer, "{name}");
    }
}

#[test]
fn from_the_ground_more_is_seen_below_than_from_the_air() {
    let mean = |scan: Scan| {
        let of = FOREST
            .records
            .iter()
            .zip(&FOREST.clouds)
            .filter(|(r, _)| r.scan == scan);
        let heights: Vec<f64> = of
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
