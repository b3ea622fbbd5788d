//! The trees themselves: the same everywhere, sound, and of the size of their kind.

use super::*;
use crate::{Scan, Season, Site, growth, species::SPECIES};

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
    let all: Vec<_> = more.records.iter().zip(&more.clouds).collect();
    for one in few.records.iter().zip(&few.clouds) {
        assert!(all.contains(&one), "{:?} has changed", one.0);
    }
    let other = made(&Config { seed: 6, ..small() });
    assert_ne!(other.clouds[0], more.clouds[0]);
}

#[test]
fn every_scan_is_sound_and_has_the_trees_own_measures() {
    let (mut seasons, mut sites) = (Vec::new(), Vec::new());
    for (record, cloud) in scans() {
        cloud.validate().unwrap();
        let counts = [cloud.len(), cloud.intensity.len(), cloud.returns.len()];
        assert_eq!(counts, [512; 3]);
        let b = cloud.bounds().unwrap();
        let known = record.inventory.unwrap();
        let cylinder = 0.25 * std::f32::consts::PI * known.diameter.powi(2) * known.height;
        let form = known.volume / cylinder;
        let sides = [b.min[0], b.min[1], b.max[0], b.max[1]];
        let mut returns = cloud.returns.iter();
        let mut scans = FOREST.records.iter().filter(|r| r.tree == record.tree);
        for (what, holds) in [
            ("height", b.min[2] >= 0.0 && (4.0..50.0).contains(&b.max[2])),
            ("width", sides.iter().all(|v| v.abs() < 20.0)),
            (
                "returns",
                returns.all(|r| r.number >= 1 && r.number <= r.of && r.of <= 8),
            ),
            ("intensity", cloud.intensity.iter().all(|&i| i > 0)),
            ("height of the tree", b.max[2] < known.height + 0.6),
            ("form factor", (0.25..0.9).contains(&form)),
            ("diameter", (0.08..=0.75).contains(&known.diameter)),
            ("other scans", scans.all(|r| r.inventory == record.inventory)),
        ] {
            assert!(holds, "{what}: {record:?}, {b:?}, form factor {form}");
        }
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
        let height = mean(sizes.iter().map(|s| s.height));
        let width = mean(sizes.iter().map(|s| 2.0 * s.crown_radius));
        let usual = (18.0..30.0).contains(&height) && (4.0..12.0).contains(&width);
        assert!(usual, "{}: {height} m high, {width} m wide", species.name);
        let crowned = |s: &growth::Size| s.crown_base > 0.0 && s.crown_base < s.height;
        assert!(sizes.iter().all(crowned));
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
        let top = tree.top / tree.size.height;
        assert!((0.8..1.1).contains(&top), "{name}: top at {top} of its height");
        let mut wood = tree.wood.iter();
        let breast = wood.find(|s| s.from.z < 1.3 && s.to.z >= 1.3).unwrap();
        assert!((breast.radius[1] - 0.125).abs() < 0.005, "{name}: {breast:?}");
        let tapers = |s: &growth::Segment| s.radius[1] <= s.radius[0] + 1e-9;
        assert!(tree.wood.iter().all(tapers), "{name}");
        let bare = grow(growth::Standing {
            leaves: false,
            ..standing(25.0)
        });
        assert_eq!(bare.leaves.is_empty(), !species.habit.conifer, "{name}");
    }
}

#[test]
fn from_the_ground_more_is_seen_below_than_from_the_air() {
    let middle = |cloud: &Cloud| {
        let top = cloud.xyz.iter().map(|p| p[2]).fold(0.0, f32::max);
        mean(cloud.xyz.iter().map(|p| f64::from(p[2] / top)))
    };
    let of = |scan: Scan| {
        let of = scans().filter(|s| s.0.scan == scan).map(|s| middle(s.1));
        mean(of.collect::<Vec<_>>().into_iter())
    };
    let (tls, uls, als) = (of(Scan::Tls), of(Scan::Uls), of(Scan::Als));
    let lower = tls + 0.05 < uls && tls + 0.05 < als;
    assert!(lower, "mean relative heights {tls} {uls} {als}");
}

#[test]
fn a_whole_scan_has_more_than_a_million_points() {
    let index = (0..50).find(|&i| plan::tree(1, i).scans[0] == Scan::Tls).unwrap();
    let cloud = full_scan(1, index).unwrap();
    cloud.validate().unwrap();
    assert!(cloud.len() > 1_000_000, "{} points", cloud.len());
}
