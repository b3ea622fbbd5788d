//! The neighbours of a tree: stems and crowns that occlude parts of it and leave a few stray points.

use std::f64::consts::TAU;

use crate::{
    Philox,
    growth::{Leaf, Segment, Size, Vec3},
};

use super::shape::{Shape, Surface};

/// Coarse neighbours: each has a bole and a crown of large leaves.
#[derive(Debug, Default)]
pub struct Neighbours {
    boles: Vec<Segment>,
    crowns: Vec<Leaf>,
}

/// Leaves of a neighbour's crown.
const LEAVES: usize = 50;

impl Neighbours {
    /// Neighbours of a tree of `size`: more and closer ones with more crowding; 0 none, 1 suppressed.
    pub fn draw(size: &Size, crowding: f64, rng: &mut Philox) -> Self {
        let count = (5.0 * crowding + rng.uniform_f64()) as usize;
        let first = rng.range(0.0, TAU);
        let mut all = Self::default();
        for k in 0..count {
            let radius = size.crown_radius * rng.range(0.7, 1.2);
            let gap = (1.25 - 0.35 * crowding) * rng.range(0.95, 1.4);
            let azimuth = first + TAU * (k as f64 + rng.range(-0.3, 0.3)) / count as f64;
            let foot =
                Vec3::polar(0.5 * std::f64::consts::PI, azimuth) * ((radius + size.crown_radius) * gap);
            let foot = Vec3::new(foot.x, foot.y, 0.0);
            let top = foot + Vec3::UP * (size.height * rng.range(0.7, 1.1));
            let half = 0.5 * size.crown_length();
            let bole = 0.4 * size.diameter;
            all.boles.push(Segment {
                from: foot,
                to: top,
                radius: [bole, 0.2 * bole],
            });
            let middle = top + Vec3::UP * -half;
            for _ in 0..LEAVES {
                let out = Vec3::normal(rng).unit() * libm::cbrt(rng.uniform_f64());
                let normal = Vec3::normal(rng).unit();
                let (u, v) = normal.sides();
                let size = rng.range(0.15, 0.4);
                all.crowns.push(Leaf {
                    centre: middle + Vec3::new(out.x * radius, out.y * radius, out.z * half),
                    long: u * size,
                    short: v * size,
                });
            }
        }
        all
    }

    /// Their number of shapes.
    pub fn len(&self) -> usize {
        self.boles.len() + self.crowns.len()
    }

    /// Whether the tree has no neighbours.
    pub fn is_empty(&self) -> bool {
        self.boles.is_empty()
    }

    pub(super) fn shapes(&self) -> impl Iterator<Item = Shape> + '_ {
        let other = Surface {
            reflectance: 0.4,
            own: false,
        };
        let boles = self.boles.iter().map(move |b| Shape::wood(b, other));
        boles.chain(self.crowns.iter().map(move |l| Shape::leaf(l, other)))
    }
}
