//! Foliage: flat ellipses, each a spray of leaves or a shoot with its needles, on the leafy segments.

use std::f64::consts::{PI, TAU};

use crate::{Philox, species::Foliage};

use super::{skeleton::Node, vec3::Vec3};

/// A flat ellipse of foliage.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// Its centre.
    pub centre: Vec3,
    /// Its longer half axis.
    pub long: Vec3,
    /// Its shorter half axis, at a right angle to the longer.
    pub short: Vec3,
}

/// Area of an element if the crown needs at most `MAX_ELEMENTS` of them, m².
const ELEMENT: f64 = 0.013;
const MAX_ELEMENTS: usize = 12_000;

/// Leaves for a crown of `radius`, with the species' leaf area per projected area, distributed over the leafy segments
/// of `nodes` by their weight.
pub fn leaves(nodes: &[Node], foliage: &Foliage, radius: f64, rng: &mut Philox) -> Vec<Leaf> {
    let area = foliage.area_index * PI * radius * radius * rng.range(0.75, 1.25);
    let count = ((area / ELEMENT) as usize).clamp(800, MAX_ELEMENTS);
    let total: f64 = nodes.iter().map(|n| f64::from(n.leafy)).sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let size = (area / count as f64 / PI).sqrt();
    let (half_long, half_short) = (size * foliage.aspect.sqrt(), size / foliage.aspect.sqrt());

    // Systematic sampling: the number of elements of each segment is within one of its share.
    let pitch = total / count as f64;
    let mut due = pitch * rng.uniform_f64();
    let (mut passed, mut leaves) = (0.0, Vec::with_capacity(count + 1));
    for node in nodes {
        let weight = f64::from(node.leafy);
        while weight > 0.0 && due < passed + weight {
            let from = nodes[node.parent as usize].at;
            let segment = node.at - from;
            let position = from + segment * rng.uniform_f64();
            let mut direction = || Vec3::polar(libm::acos(rng.range(-1.0, 1.0)), rng.range(0.0, TAU));
            let (away, grow) = (direction(), direction());
            let long = segment.unit() + grow * 0.7;
            let down = Vec3::new(0.0, 0.0, -foliage.hang * 1.5);
            let long = (long * (1.0 - foliage.hang) + down).unit();
            let normal = away * (1.0 - foliage.level) + Vec3::UP * (foliage.level * 1.5);
            let short = normal.cross(long).unit();
            let scale = rng.range(0.8, 1.2);
            let outward = away * (foliage.spread * rng.uniform_f64());
            leaves.push(Leaf {
                centre: position + outward + long * (half_long * 0.5),
                long: long * (half_long * scale),
                short: short * (half_short * scale),
            });
            due += pitch;
        }
        passed += weight;
    }
    leaves
}
