//! Grows the skeleton: axes of one order have axes of the next, according to the species' habit.
//!
//! The recursion over orders, with an angle, a length and a taper for each, follows Honda (1971, "Description of
//! the form of trees by the parameters of the tree-like body") and Weber and Penn (1995, "Creation and
//! rendering of realistic trees"). The pruning by an outline follows Weber and Penn, too.

use std::f64::consts::TAU;

use crate::{Philox, species::Habit};

use super::{
    size::{Envelope, Size, Standing},
    skeleton::Node,
    vec3::Vec3,
};

/// Consecutive nodes of one axis.
pub(super) struct Axis {
    pub nodes: Vec<u32>,
    pub step: f64,
}

impl Axis {
    /// Its length, metres.
    pub fn length(&self) -> f64 {
        (self.nodes.len() - 1) as f64 * self.step
    }
}

/// How an axis grows from its first node.
pub(super) struct Course {
    /// Metres between nodes.
    pub step: f64,
    /// Total length, metres.
    pub length: f64,
    /// Random change of direction per square root of a metre, radians.
    pub wander: f64,
    /// Bend towards the sky, per metre.
    pub lift: f64,
    /// The axis ends where it leaves the outline scaled by this factor.
    pub slack: f64,
    /// 0 stem and leaders, 1 their branches, and so on.
    pub order: u8,
}

/// A growing tree.
pub(super) struct Grower<'a> {
    pub(super) habit: &'a Habit,
    pub(super) size: &'a Size,
    standing: &'a Standing,
    envelope: Envelope,
    pub(super) rng: &'a mut Philox,
    pub(super) nodes: Vec<Node>,
    /// Factor on the distance between nodes, greater for large trees.
    pub(super) stretch: f64,
}

/// Grows the skeleton of a tree of `habit` and `size` into `envelope`.
pub fn grow(
    habit: &Habit,
    size: &Size,
    standing: &Standing,
    envelope: Envelope,
    rng: &mut Philox,
) -> Vec<Node> {
    let mut tree = Grower {
        habit,
        size,
        standing,
        envelope,
        rng,
        // The foot.
        nodes: vec![Node::default()],
        stretch: (size.crown_length() * 0.1).sqrt().clamp(0.5, 1.5),
    };
    for axis in tree.stems() {
        tree.branches(&axis, 0);
    }
    tree.dead_branches();
    tree.nodes
}

impl Grower<'_> {
    /// The stem and, if it forks, its leaders.
    fn stems(&mut self) -> Vec<Axis> {
        let (habit, size) = (self.habit, self.size);
        let young = habit.conifer && self.standing.age < 0.6;
        let leaders = 1 + self.rng.below(if young { 1 } else { habit.leaders });
        let [low, high] = habit.fork;
        let fork = size.crown_base + size.crown_length() * self.rng.range(low, high);
        let lean = Vec3::UP.bent(0.03 * self.rng.normal(), self.rng.range(0.0, TAU));
        let course = Course {
            step: (size.height / 60.0).clamp(0.15, 0.5),
            length: if leaders > 1 { fork } else { size.height },
            wander: habit.stem_wander,
            lift: 0.02,
            slack: 1e3,
            order: 0,
        };
        let stem = self.axis(0, lean, &course);
        let last = stem.nodes[stem.nodes.len() - 1];
        let top = self.nodes[last as usize].at;
        self.envelope.follow(top);
        let mut axes = vec![stem];
        if leaders == 1 {
            return axes;
        }
        // Leaders around the end of the stem; the first is the steepest.
        let turn = self.rng.range(0.0, TAU);
        for k in 0..leaders {
            let spread = if k == 0 { 0.5 } else { 1.0 } * self.rng.range(0.5, 1.3);
            let around = turn + TAU * k as f64 / leaders as f64 + 0.3 * self.rng.normal();
            let course = Course {
                length: 1.3 * (size.height - top.z),
                wander: habit.stem_wander * 1.5,
                lift: 0.06,
                slack: self.rng.range(0.8, 1.0),
                ..course
            };
            let direction = Vec3::UP.bent(habit.fork_angle.to_radians() * spread, around);
            axes.push(self.axis(last, direction, &course));
        }
        axes
    }

    /// Grows one axis from node `start`, until it has its length or leaves the outline.
    pub(super) fn axis(&mut self, start: u32, direction: Vec3, course: &Course) -> Axis {
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
            let out = course.slack < 100.0 && !self.envelope.contains(next, course.slack);
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
                ..Node::default()
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

    /// Grows dead and shaded-out branches below the crown.
    fn dead_branches(&mut self) {
        let base = self.size.crown_base;
        let is_bole = |&i: &u32| {
            let n = &self.nodes[i as usize];
            n.order == 0 && n.at.z > 0.3 * base && n.at.z < base
        };
        let bole: Vec<u32> = (1..self.nodes.len() as u32).filter(is_bole).collect();
        let expected = self.habit.dead * 0.7 * base * self.rng.range(0.2, 1.4);
        if bole.is_empty() {
            return;
        }
        for _ in 0..expected as usize {
            // High positions are more likely, because the lowest dead branches break off first.
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
