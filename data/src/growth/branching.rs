//! Grows the skeleton: axes of a first order bear axes of the next, each species by its habit.
//!
//! The recursion over orders with an angle, a length and a taper for each is Honda's (1971, "Description of
//! the form of trees by the parameters of the tree-like body") and Weber and Penn's (1995, "Creation and
//! rendering of realistic trees"), whose pruning by an outline it takes over too.

use std::f64::consts::{PI, TAU};

use crate::{
    Philox,
    species::{Arrangement, Branching, Habit},
};

use super::{
    envelope::Envelope,
    size::{Size, Standing},
    skeleton::Node,
    vec3::Vec3,
};

/// The golden angle, 137.5°: the turn from one leaf to the next in spiral phyllotaxis.
const GOLDEN: f64 = 2.399_963_229_728_653;

/// A run of nodes that grew as one.
struct Axis {
    nodes: Vec<u32>,
    step: f64,
}

impl Axis {
    fn length(&self) -> f64 {
        (self.nodes.len() - 1) as f64 * self.step
    }
}

/// How an axis goes on from its first node.
struct Course {
    step: f64,
    length: f64,
    wander: f64,
    lift: f64,
    slack: f64,
    order: u8,
}

/// A tree while it grows.
pub struct Grower<'a> {
    habit: &'a Habit,
    size: &'a Size,
    standing: &'a Standing,
    envelope: Envelope,
    rng: &'a mut Philox,
    nodes: Vec<Node>,
    /// Nodes stand this much farther apart on a large tree.
    stretch: f64,
}

impl<'a> Grower<'a> {
    /// Ready to grow a tree of `habit` and `size` into `envelope`.
    pub fn new(
        habit: &'a Habit,
        size: &'a Size,
        standing: &'a Standing,
        envelope: Envelope,
        rng: &'a mut Philox,
    ) -> Self {
        let stretch = (size.crown_length() * 0.1).sqrt().clamp(0.5, 1.5);
        let foot = Node {
            at: Vec3::default(),
            parent: 0,
            order: 0,
            leafy: 0.0,
            radius: 0.0,
        };
        Self {
            habit,
            size,
            standing,
            envelope,
            rng,
            nodes: vec![foot],
            stretch,
        }
    }

    /// Grows the whole tree.
    pub fn grow(mut self) -> Vec<Node> {
        for axis in self.stems() {
            self.branches(&axis, 0);
        }
        self.dead_branches();
        self.nodes
    }

    /// The stem and, where it forks, its leaders.
    fn stems(&mut self) -> Vec<Axis> {
        let (habit, size) = (self.habit, self.size);
        let most = if habit.conifer && self.standing.age < 0.6 {
            1
        } else {
            habit.leaders
        };
        let leaders = 1 + self.rng.below(most);
        let [low, high] = habit.fork;
        let fork = size.crown_base + size.crown_length() * self.rng.range(low, high);
        let stem_top = if leaders > 1 { fork } else { size.height };

        let step = (size.height / 40.0).clamp(0.2, 0.7);
        let lean = Vec3::UP.bent(0.03 * self.rng.normal(), self.rng.range(0.0, TAU));
        let course = Course {
            step,
            length: stem_top,
            wander: habit.stem_wander,
            lift: 0.02,
            slack: 1e3,
            order: 0,
        };
        let stem = self.axis(0, lean, &course);
        let Some(&last) = stem.nodes.last() else {
            return Vec::new();
        };
        self.envelope.follow(self.nodes[last as usize].at);
        let mut axes = vec![stem];
        let turn = self.rng.range(0.0, TAU);
        for k in 0..leaders {
            if leaders == 1 {
                break;
            }
            let angle =
                habit.fork_angle.to_radians() * self.rng.range(0.5, 1.3) * if k == 0 { 0.5 } else { 1.0 };
            let around = turn + TAU * k as f64 / leaders as f64 + 0.3 * self.rng.normal();
            let course = Course {
                step,
                length: 1.3 * (size.height - fork),
                wander: habit.stem_wander * 1.5,
                lift: 0.06,
                slack: self.rng.range(0.8, 1.0),
                order: 0,
            };
            axes.push(self.axis(last, Vec3::UP.bent(angle, around), &course));
        }
        axes
    }

    /// One axis from node `start`, until its length is grown or the outline reached.
    fn axis(&mut self, start: u32, direction: Vec3, course: &Course) -> Axis {
        let count = libm::ceil(course.length / course.step).max(1.0);
        let step = course.length / count;
        let (wander, lift) = (course.wander * step.sqrt(), course.lift * step);
        let mut axis = Axis {
            nodes: vec![start],
            step,
        };
        let (mut at, mut parent, mut dir) = (self.nodes[start as usize].at, start, direction);
        for k in 0..count as usize {
            let mut next = at + dir * step;
            let out = course.slack < 100.0 && !self.envelope.holds(next, course.slack);
            if (out && k > 0) || next.z < 0.2 && course.order > 0 {
                break;
            }
            if out {
                next = at + dir * (0.35 * step);
            }
            at = next;
            let id = self.nodes.len() as u32;
            self.nodes.push(Node {
                at,
                parent,
                order: course.order,
                leafy: 0.0,
                radius: 0.0,
            });
            axis.nodes.push(id);
            if out {
                break;
            }
            parent = id;
            dir = (dir + Vec3::normal(self.rng) * wander + Vec3::UP * lift).unit();
        }
        axis
    }

    /// The branches of `axis`, whose order is `order`, and theirs.
    fn branches(&mut self, axis: &Axis, order: usize) {
        let Some(&branching) = self.habit.orders.get(order) else {
            return self.bear_leaves(axis, self.habit.foliage.outer);
        };
        self.bear_leaves(axis, 0.35 * self.habit.foliage.outer);
        let length = axis.length();
        let (mut turn, flat) = (self.rng.range(0.0, TAU), branching.flat);
        let mut along = branching.spacing * self.stretch * self.rng.range(0.3, 1.0);
        if order > 0 {
            along += 0.15 * length;
        }
        while along < length {
            let (node, direction) = self.on(axis, along);
            let in_crown = order > 0 || self.nodes[node as usize].at.z >= self.size.crown_base;
            let place = if order == 0 {
                self.depth(node)
            } else {
                1.0 - along / length
            };
            if in_crown {
                for k in 0..self.count_at_node(order) {
                    let (around, weak) = self.around(order, k, &mut turn, flat);
                    self.branch(
                        &branching,
                        order,
                        node,
                        direction,
                        around,
                        place,
                        length - along,
                        weak,
                    );
                }
            }
            along += self.gap(&branching, order);
        }
    }

    /// Distance to the next node that bears branches.
    fn gap(&mut self, branching: &Branching, order: usize) -> f64 {
        let gap = branching.spacing * self.stretch * self.rng.range(0.7, 1.3);
        match (self.habit.arrangement, order) {
            // The year's shoot is cut into pieces: a whorl at its end, single branches between.
            (Arrangement::Whorled { .. }, 0) => gap,
            _ => gap.max(0.08),
        }
    }

    /// How many branches stand at one node.
    fn count_at_node(&mut self, order: usize) -> usize {
        match (self.habit.arrangement, order) {
            (Arrangement::Whorled { count, between }, 0) => {
                let gap = self.habit.orders[0].spacing * self.stretch;
                let n = count + 0.8 * self.rng.normal() + between * gap * self.rng.range(0.5, 1.5);
                (n.max(1.0) + 0.5) as usize
            }
            (Arrangement::Opposite, _) => 2,
            (Arrangement::Whorled { .. }, _) => 2,
            (Arrangement::Spiral, _) => 1,
        }
    }

    /// The azimuth of a node's `k`-th branch about its axis, and whether it stands between whorls.
    fn around(&mut self, order: usize, k: usize, turn: &mut f64, flat: f64) -> (f64, bool) {
        let jitter = 0.25 * self.rng.normal();
        match (self.habit.arrangement, order) {
            (Arrangement::Whorled { count, .. }, 0) => {
                let weak = k as f64 >= count;
                if k == 0 {
                    *turn += self.rng.range(0.3, 1.2);
                }
                (
                    *turn + TAU * k as f64 / count.max(1.0) + jitter * if weak { 4.0 } else { 1.0 },
                    weak,
                )
            }
            (_, 0) => {
                *turn += match (self.habit.arrangement, k) {
                    (Arrangement::Opposite, 0) => PI / 2.0,
                    (Arrangement::Opposite, _) => PI,
                    _ => GOLDEN,
                };
                (*turn + jitter, false)
            }
            _ => {
                // Branches of branches: a comb to both sides where flat, all round where not.
                *turn += if k == 0 { GOLDEN } else { PI };
                let side = if libm::sin(*turn) > 0.0 { 0.0 } else { PI };
                let side = if self.count_is_pair() { k as f64 * PI } else { side };
                if self.rng.uniform_f64() < flat {
                    (side + jitter, false)
                } else {
                    (*turn + jitter, false)
                }
            }
        }
    }

    fn count_is_pair(&self) -> bool {
        !matches!(self.habit.arrangement, Arrangement::Spiral)
    }

    /// Depth of a node in the crown: 0 top, 1 crown base.
    fn depth(&self, node: u32) -> f64 {
        let z = self.nodes[node as usize].at.z;
        ((self.size.height - z) / self.size.crown_length()).clamp(0.0, 1.0)
    }

    /// The node of `axis` nearest below `along`, and the direction there.
    fn on(&self, axis: &Axis, along: f64) -> (u32, Vec3) {
        let k = ((along / axis.step) as usize).min(axis.nodes.len() - 2);
        let (a, b) = (axis.nodes[k], axis.nodes[k + 1]);
        (b, (self.nodes[b as usize].at - self.nodes[a as usize].at).unit())
    }

    /// One branch, and what grows on it.
    #[allow(clippy::too_many_arguments)]
    fn branch(
        &mut self,
        b: &Branching,
        order: usize,
        node: u32,
        parent: Vec3,
        around: f64,
        place: f64,
        rest: f64,
        weak: bool,
    ) {
        let angle = (b.angle[0] + (b.angle[1] - b.angle[0]) * place + 7.0 * self.rng.normal()).to_radians();
        let (length, slack) = if order == 0 {
            let reach = 2.2 * self.size.crown_radius;
            (
                reach,
                b.length * self.rng.range(0.78, 1.06) * if weak { 0.65 } else { 1.0 },
            )
        } else {
            (
                (b.length * (rest + 0.25) * self.rng.range(0.6, 1.15)).max(0.15),
                1.06,
            )
        };
        let step = [0.35, 0.3, 0.28][order.min(2)] * self.stretch;
        let course = Course {
            step: step.min(length),
            length,
            wander: b.wander,
            lift: b.lift[0] + (b.lift[1] - b.lift[0]) * place,
            slack,
            order: order as u8 + 1,
        };
        let axis = self.axis(node, parent.bent(angle, around), &course);
        if axis.nodes.len() > 1 {
            self.branches(&axis, order + 1);
        }
    }

    /// Marks the outer share of `axis` as bearing foliage.
    fn bear_leaves(&mut self, axis: &Axis, outer: f64) {
        let n = axis.nodes.len();
        for (k, &id) in axis.nodes.iter().enumerate().skip(1) {
            if k as f64 > (1.0 - outer) * (n - 1) as f64 - 0.5 {
                self.nodes[id as usize].leafy = axis.step as f32;
            }
        }
    }

    /// Dead and shaded-out branches under the crown.
    fn dead_branches(&mut self) {
        let base = self.size.crown_base;
        let bole: Vec<u32> = (1..self.nodes.len() as u32)
            .filter(|&i| {
                let n = &self.nodes[i as usize];
                n.order == 0 && n.at.z > 0.3 * base && n.at.z < base
            })
            .collect();
        let expected = self.habit.dead * 0.7 * base * self.rng.range(0.2, 1.4);
        if bole.is_empty() {
            return;
        }
        for _ in 0..expected as usize {
            // The higher, the fresher: dead branches break off from below.
            let pick = self.rng.uniform_f64().sqrt() * bole.len() as f64;
            let node = bole[(pick as usize).min(bole.len() - 1)];
            let length = self.size.crown_radius * self.rng.range(0.15, 0.75);
            let course = Course {
                step: 0.35,
                length,
                wander: 0.08,
                lift: -0.08,
                slack: 1e3,
                order: 1,
            };
            let direction = Vec3::polar(self.rng.range(1.2, 1.8), self.rng.range(0.0, TAU));
            self.axis(node, direction, &course);
        }
    }
}
