//! Arrangement, angles and lengths of branches for each species.

use std::f64::consts::{PI, TAU};

use crate::species::{Arrangement, Branching};

use super::{
    branching::{Axis, Course, Grower},
    vec3::Vec3,
};

/// The golden angle, 137.5°: the turn from one leaf to the next in spiral phyllotaxis.
const GOLDEN: f64 = 2.399_963_229_728_653;

/// The origin of a branch.
struct Spot {
    node: u32,
    /// The parent's direction there.
    direction: Vec3,
    /// Azimuth about the parent.
    around: f64,
    /// Relative depth: on the stem, in the crown; on a branch, from its tip. 0 top or tip, 1 base.
    depth: f64,
    /// Remaining length of the parent, metres.
    rest: f64,
    /// Whether it is between whorls, where branches are short.
    weak: bool,
}

impl Grower<'_> {
    /// Grows the branches of `axis`, whose order is `order`, and their branches; the last order bears the foliage.
    pub(super) fn branches(&mut self, axis: &Axis, order: usize) {
        let Some(&branching) = self.habit.orders.get(order) else {
            return self.bear_leaves(axis, self.habit.foliage.outer);
        };
        self.bear_leaves(axis, 0.35 * self.habit.foliage.outer);
        let length = axis.length();
        let mut turn = self.rng.range(0.0, TAU);
        let mut along = branching.spacing * self.stretch * self.rng.range(0.3, 1.0);
        if order > 0 {
            along += 0.15 * length;
        }
        while along < length {
            let gap = (branching.spacing * self.stretch * self.rng.range(0.7, 1.3)).max(0.08);
            let (strong, weak) = self.count_at_node(order, gap);
            for k in 0..strong + weak {
                let weak = k >= strong;
                let around = self.around(order, k, strong, branching.flat, &mut turn);
                let offset = if weak { self.rng.uniform_f64() } else { 0.0 };
                let (node, direction) = self.on(axis, along + gap * offset);
                let depth = match order {
                    0 if self.nodes[node as usize].at.z < self.size.crown_base => continue,
                    0 => self.depth(node),
                    _ => 1.0 - along / length,
                };
                let spot = Spot {
                    node,
                    direction,
                    around,
                    depth,
                    rest: length - along,
                    weak,
                };
                self.branch(&branching, order, &spot);
            }
            along += gap;
        }
    }

    /// How many branches are at one node, and between it and the next.
    fn count_at_node(&mut self, order: usize, gap: f64) -> (usize, usize) {
        match (self.habit.arrangement, order) {
            (Arrangement::Whorled { count, between }, 0) => {
                let whorl = (count + 0.8 * self.rng.normal()).max(1.0) + 0.5;
                (whorl as usize, (between * gap + self.rng.uniform_f64()) as usize)
            }
            (Arrangement::Opposite | Arrangement::Whorled { .. }, _) => (2, 0),
            (Arrangement::Spiral, _) => (1, 0),
        }
    }

    /// The azimuth about its axis of the `k`-th branch at a node of `count`.
    fn around(&mut self, order: usize, k: usize, count: usize, flat: f64, turn: &mut f64) -> f64 {
        let jitter = 0.25 * self.rng.normal();
        let arrangement = self.habit.arrangement;
        let pairs = !matches!(arrangement, Arrangement::Spiral);
        match (arrangement, order) {
            (Arrangement::Whorled { .. }, 0) if k >= count => self.rng.range(0.0, TAU),
            (Arrangement::Whorled { .. }, 0) => {
                if k == 0 {
                    *turn += self.rng.range(0.3, 1.2);
                }
                *turn + TAU * k as f64 / count as f64 + jitter
            }
            (_, 0) => {
                *turn += match (pairs, k) {
                    (true, 0) => 0.5 * PI,
                    (true, _) => PI,
                    (false, _) => GOLDEN,
                };
                *turn + jitter
            }
            // Branches of branches: on both sides if flat, otherwise all around.
            _ => {
                *turn += if k == 0 { GOLDEN } else { PI };
                let left = if pairs { k == 0 } else { libm::sin(*turn) > 0.0 };
                let side = if left { 0.0 } else { PI };
                if self.rng.uniform_f64() < flat {
                    side + jitter
                } else {
                    *turn + jitter
                }
            }
        }
    }

    /// Depth of a node in the crown: 0 top, 1 crown base.
    fn depth(&self, node: u32) -> f64 {
        let z = self.nodes[node as usize].at.z;
        ((self.size.height - z) / self.size.crown_length()).clamp(0.0, 1.0)
    }

    /// The first node of `axis` beyond `along` metres, and the direction there.
    fn on(&self, axis: &Axis, along: f64) -> (u32, Vec3) {
        let k = ((along / axis.step) as usize).min(axis.nodes.len() - 2);
        let (a, b) = (axis.nodes[k], axis.nodes[k + 1]);
        (b, (self.nodes[b as usize].at - self.nodes[a as usize].at).unit())
    }

    /// Grows one branch, with its own branches.
    fn branch(&mut self, b: &Branching, order: usize, spot: &Spot) {
        let between = |ends: [f64; 2]| ends[0] + (ends[1] - ends[0]) * spot.depth;
        let angle = (between(b.angle) + 7.0 * self.rng.normal()).to_radians();
        let (length, slack) = match order {
            0 => {
                let weak = if spot.weak { 0.65 } else { 1.0 };
                let slack = b.length * self.rng.range(0.78, 1.06) * weak;
                (2.2 * self.size.crown_radius, slack)
            }
            _ => {
                let length = b.length * (spot.rest + 0.25) * self.rng.range(0.6, 1.15);
                (length.max(0.15), 1.06)
            }
        };
        let step = [0.35, 0.3, 0.28][order.min(2)] * self.stretch;
        let course = Course {
            step: step.min(length),
            length,
            wander: b.wander,
            lift: between(b.lift),
            slack,
            order: order as u8 + 1,
        };
        let axis = self.axis(spot.node, spot.direction.bent(angle, spot.around), &course);
        if axis.nodes.len() > 1 {
            self.branches(&axis, order + 1);
        }
    }

    /// Marks the outer part of `axis` as leafy.
    fn bear_leaves(&mut self, axis: &Axis, outer: f64) {
        let n = axis.nodes.len();
        for (k, &id) in axis.nodes.iter().enumerate().skip(1) {
            if k as f64 > (1.0 - outer) * (n - 1) as f64 - 0.5 {
                self.nodes[id as usize].leafy = axis.step as f32;
            }
        }
    }
}
