//! Trees that are seen in part only, as behind other trees or at the edge of a scan.

use crate::{Dataset, Philox, Purpose};

/// The indices, ascending, of the points on one side of a plane with a random direction: between the share `least` and all
/// of them, at least one.
fn visible(points: &[[f32; 3]], least: f64, random: &mut Philox) -> Vec<usize> {
    let direction: [f64; 3] = std::array::from_fn(|_| random.normal());
    let share = random.range(least, 1.0);
    let along = |&i: &usize| -> f64 { (0..3).map(|a| direction[a] * f64::from(points[i][a])).sum() };
    let mut kept: Vec<usize> = (0..points.len()).collect();
    kept.sort_by(|a, b| along(a).total_cmp(&along(b)));
    kept.truncate(((share * points.len() as f64).ceil() as usize).max(1));
    kept.sort_unstable();
    kept
}

impl Dataset {
    /// The same set, in which only a part of each tree is visible: the points on one side of a random plane, at least the
    /// share `least` of them. The part depends on `seed` and the record only, so it is the same in each epoch. With a share
    /// of 1 it is the set itself.
    pub fn partial(&self, least: f64, seed: u64) -> Self {
        if least >= 1.0 {
            return self.clone();
        }
        self.map(move |index, cloud| {
            let mut random = Purpose::View.stream(seed, index as u64);
            let part = cloud.select(&visible(&cloud.xyz, least, &mut random));
            // A few points of a small cloud may be at the same place: then the whole cloud is visible.
            Ok(if part.has_extent() { part } else { cloud })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cloud;

    fn set() -> Dataset {
        let mut random = Philox::new(3, 3);
        let points = (0..400).map(|_| [0; 3].map(|_| random.uniform()));
        let cloud = Cloud {
            intensity: (0..400).collect(),
            ..Cloud::from_points(points.collect())
        };
        Dataset::of_clouds(vec![cloud; 20])
    }

    #[test]
    fn the_visible_points_are_on_one_side_of_a_plane_and_depend_on_seed_and_record_only() {
        let (whole, part) = (set().cloud(0).unwrap(), set().partial(0.4, 7));
        let mut lengths = Vec::new();
        for record in 0..20 {
            let cloud = part.cloud(record).unwrap();
            assert!((160..=400).contains(&cloud.len()), "{} points", cloud.len());
            for (p, &i) in cloud.xyz.iter().zip(&cloud.intensity) {
                assert_eq!(*p, whole.xyz[usize::from(i)]);
            }
            let mut random = Purpose::View.stream(7, record as u64);
            let direction: [f64; 3] = std::array::from_fn(|_| random.normal());
            let along = |p: &[f32; 3]| -> f64 { (0..3).map(|a| direction[a] * f64::from(p[a])).sum() };
            let farthest = cloud.xyz.iter().map(along).fold(f64::MIN, f64::max);
            let nearer = whole.xyz.iter().filter(|p| along(p) <= farthest).count();
            assert_eq!(nearer, cloud.len());
            assert_eq!(cloud, set().partial(0.4, 7).cloud(record).unwrap());
            lengths.push(cloud.len());
        }
        assert!(lengths.iter().any(|&n| n != lengths[0]), "all shares are equal");
        assert_ne!(part.cloud(3).unwrap(), set().partial(0.4, 8).cloud(3).unwrap());
        assert_eq!(set().partial(1.0, 7).cloud(3).unwrap(), whole);
    }

    #[test]
    fn a_part_has_an_extent_if_the_cloud_has_one() {
        let two = Cloud::from_points(vec![[0.0; 3], [1.0; 3]]);
        let part = Dataset::of_clouds(vec![two; 20]).partial(0.1, 7);
        for record in 0..20 {
            assert!(part.cloud(record).unwrap().has_extent());
        }
        assert_eq!(visible(&[[1.0; 3]], 0.0, &mut Philox::new(1, 1)), [0]);
        assert!(visible(&[], 0.5, &mut Philox::new(1, 1)).is_empty());
    }
}
