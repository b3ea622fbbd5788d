//! The neighbours of a tree: stems and crowns that occlude parts of it and leave a few stray points.

use std::f64::consts::{PI, TAU};

use crate::{
    Philox,
    growth::{Leaf, Segment, Size, Vec3},
};

use super::shape::{Shape, Surface};

/// Leaves of a neighbour's crown.
const LEAVES: usize = 50;

/// Coarse neighbours of a tree of `size`: each has a bole and a crown of large leaves. There are more and closer ones with
/// more crowding; 0 none, 1 suppressed.
pub fn neighbours(size: &Size, crowding: f64, rng: &mut Philox) -> Vec<Shape> {
    let other = Surface {
        reflectance: 0.4,
        own: false,
    };
    let count = (5.0 * crowding + rng.uniform_f64()) as usize;
    let first = rng.range(0.0, TAU);
    let (mut boles, mut crowns) = (Vec::new(), Vec::new());
    for k in 0..count {
        let radius = size.crown_radius * rng.range(0.7, 1.2);
        let gap = (1.25 - 0.35 * crowding) * rng.range(0.95, 1.4);
        let azimuth = first + TAU * (k as f64 + rng.range(-0.3, 0.3)) / count as f64;
        let foot = Vec3::polar(0.5 * PI, azimuth) * ((radius + size.crown_radius) * gap);
        let from = Vec3::new(foot.x, foot.y, 0.0);
        let to = from + Vec3::UP * (size.height * rng.range(0.7, 1.1));
        let half = 0.5 * size.crown_length();
        let bole = 0.4 * size.diameter;
        let radius_of_bole = [bole, 0.2 * bole];
        let bole = Segment {
            from,
            to,
            radius: radius_of_bole,
        };
        boles.push(Shape::wood(&bole, other));
        let middle = to + Vec3::UP * -half;
        for _ in 0..LEAVES {
            let out = Vec3::normal(rng).unit() * libm::cbrt(rng.uniform_f64());
            let (u, v) = Vec3::normal(rng).unit().sides();
            let size = rng.range(0.15, 0.4);
            let leaf = Leaf {
                centre: middle + Vec3::new(out.x * radius, out.y * radius, out.z * half),
                long: u * size,
                short: v * size,
            };
            crowns.push(Shape::leaf(&leaf, other));
        }
    }
    boles.append(&mut crowns);
    boles
}
