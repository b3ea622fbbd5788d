//! A virtual laser scanner: pulses against wood and foliage, with occlusion, noise and returns.
//!
//! The result resembles a segmented tree of a real survey: the near side is dense, the far side occluded; the top is
//! sparse from the ground and the stem is sparse from the air.

mod beam;
mod bvh;
mod neighbours;
mod shape;
mod survey;
#[cfg(test)]
mod tests;

pub use neighbours::Neighbours;

use crate::{
    Cloud, Philox, Scan,
    growth::{Tree, Vec3},
    species::Habit,
};

use beam::Echo;
use bvh::Bvh;
use shape::{Shape, Surface};
use survey::{Pulse, Target};

/// A tree among its neighbours, ready to be scanned.
#[derive(Debug)]
pub struct Scene {
    bvh: Bvh,
    target: Target,
}

impl Scene {
    /// `tree` of `habit` with its neighbours.
    pub fn new(tree: &Tree, habit: &Habit, neighbours: &Neighbours) -> Self {
        let bark = Surface {
            reflectance: habit.bark as f32,
            own: true,
        };
        let green = Surface {
            reflectance: habit.foliage.reflectance as f32,
            own: true,
        };
        let mut shapes = Vec::with_capacity(tree.wood.len() + tree.leaves.len() + neighbours.len());
        shapes.extend(tree.wood.iter().map(|s| Shape::wood(s, bark)));
        shapes.extend(tree.leaves.iter().map(|l| Shape::leaf(l, green)));
        let mut target = Target {
            height: 1.0,
            radius: 0.5,
        };
        let ends = tree
            .wood
            .iter()
            .map(|s| s.to)
            .chain(tree.leaves.iter().map(|l| l.centre));
        for p in ends {
            target.height = target.height.max(p.z);
            target.radius = target.radius.max(p.horizontal());
        }
        target.height += 0.3;
        target.radius += 0.2;
        shapes.extend(neighbours.shapes());
        Self {
            bvh: Bvh::build(shapes),
            target,
        }
    }

    /// Scans with about `pulses` pulses and returns the points that a segmentation would assign to this tree.
    pub fn scan(&self, scan: Scan, pulses: usize, rng: &mut Philox) -> Cloud {
        let pulses = survey::pulses(scan, &self.target, pulses, rng);
        self.cast(scan, &pulses, rng)
    }

    /// Casts `pulses` and keeps the points of this tree above the undergrowth, and a few stray points.
    fn cast(&self, scan: Scan, pulses: &[Pulse], rng: &mut Philox) -> Cloud {
        let optics = survey::optics(scan);
        let cut = match scan {
            Scan::Tls | Scan::Unknown => rng.range(0.05, 0.4),
            Scan::Uls => rng.range(0.1, 1.0),
            Scan::Als => rng.range(0.5, 2.0),
        };
        let stray = rng.range(0.0, 0.12) as f32;
        let gain = 30_000.0 * libm::exp(0.4 * rng.normal());
        let shifts: Vec<Vec3> = (0..16)
            .map(|_| Vec3::normal(rng) * (0.5 * optics.range_noise))
            .collect();
        let mut echoes = Vec::new();
        let mut cloud = Cloud::default();
        for p in pulses {
            echoes.clear();
            beam::pulse(&self.bvh, &optics, p.origin, p.dir, p.skip, rng, &mut echoes);
            for e in &echoes {
                let at = e.at + shifts[p.station % shifts.len()];
                let near = at.horizontal() < 1.05 * self.target.radius && at.z < self.target.height;
                let kept = e.own || near && at.z > 1.0 && rng.uniform() < stray;
                if at.z >= cut && kept {
                    cloud.xyz.push([at.x as f32, at.y as f32, at.z as f32]);
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
