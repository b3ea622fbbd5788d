//! A virtual laser scanner: pulses against wood and foliage, with occlusion, noise and returns.
//!
//! The result resembles a segmented tree of a real survey: the near side is dense, the far side occluded; the top is
//! sparse from the ground and the stem is sparse from the air.

mod beam;
mod bvh;
mod neighbours;
mod shape;
mod survey;

pub use neighbours::neighbours;

use crate::{
    Cloud, Philox, Scan,
    growth::{Tree, Vec3},
    species::Habit,
};

use beam::Echo;
use bvh::Bvh;
use shape::{Shape, Surface};
use survey::{Target, scanner};

/// A tree among its neighbours, ready to be scanned.
#[derive(Debug)]
pub struct Scene {
    bvh: Bvh,
    target: Target,
}

impl Scene {
    /// `tree` of `habit` with its neighbours.
    pub fn new(tree: &Tree, habit: &Habit, neighbours: Vec<Shape>) -> Self {
        let surface = |reflectance: f64| Surface {
            reflectance: reflectance as f32,
            own: true,
        };
        let (bark, green) = (surface(habit.bark), surface(habit.foliage.reflectance));
        let wood = tree.wood.iter().map(|s| Shape::wood(s, bark));
        let leaves = tree.leaves.iter().map(|l| Shape::leaf(l, green));
        let mut target = Target {
            height: 1.0,
            radius: 0.5,
        };
        let shoots = tree.wood.iter().map(|s| s.to);
        for p in shoots.chain(tree.leaves.iter().map(|l| l.centre)) {
            target.height = target.height.max(p.z);
            target.radius = target.radius.max(p.horizontal());
        }
        target.height += 0.3;
        target.radius += 0.2;
        Self {
            bvh: Bvh::build(wood.chain(leaves).chain(neighbours)),
            target,
        }
    }

    /// Scans with about `pulses` pulses and returns the points that a segmentation would assign to this tree.
    pub fn scan(&self, scan: Scan, pulses: usize, rng: &mut Philox) -> Cloud {
        let scanner = scanner(scan);
        let pulses = scanner.pulses(&self.target, pulses, rng);
        let optics = &scanner.optics;
        // The points of this tree above the undergrowth, and a few stray points.
        let cut = rng.range(scanner.cut[0], scanner.cut[1]);
        let stray = rng.range(0.0, 0.12) as f32;
        let gain = 30_000.0 * libm::exp(0.4 * rng.normal());
        let shift = |_| Vec3::normal(rng) * (0.5 * optics.range_noise);
        let shifts: Vec<Vec3> = (0..16).map(shift).collect();
        let mut echoes = Vec::new();
        let mut cloud = Cloud::default();
        for p in &pulses {
            echoes.clear();
            beam::cast(&self.bvh, optics, p, rng, &mut echoes);
            for e in &echoes {
                let at = e.at + shifts[p.station % shifts.len()];
                let near = at.horizontal() < 1.05 * self.target.radius && at.z < self.target.height;
                let kept = e.own || near && at.z > 1.0 && rng.uniform() < stray;
                if at.z >= cut && kept {
                    cloud.xyz.push(at.single());
                    cloud
                        .intensity
                        .push(strength(e, gain, optics.reference_range, rng));
                    cloud.returns.push(e.ret);
                }
            }
        }
        cloud
    }
}

/// Intensity in the scanner's unit: inversely proportional to the square of the range, with speckle.
fn strength(e: &Echo, gain: f64, reference: f64, rng: &mut Philox) -> u16 {
    let fall = reference / e.range.max(1.0);
    let value = gain * f64::from(e.energy) * fall * fall * libm::exp(0.15 * rng.normal());
    value.clamp(1.0, 65_535.0) as u16
}
