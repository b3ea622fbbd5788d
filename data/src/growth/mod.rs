//! Growth: from a species and the conditions of a tree to wood and foliage in metres.

mod branches;
mod branching;
mod foliage;
mod size;
mod skeleton;
mod vec3;

pub use foliage::Leaf;
use size::Envelope;
pub use size::{Size, Standing};
pub use vec3::Vec3;

use crate::{Philox, species::Species};

/// A tapered piece of wood.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Its lower end, towards the foot.
    pub from: Vec3,
    /// Its upper end.
    pub to: Vec3,
    /// Radius at `from` and `to`, metres.
    pub radius: [f64; 2],
}

impl Segment {
    /// Its volume, that of a truncated cone, m³.
    pub fn volume(&self) -> f64 {
        let ([a, b], length) = (self.radius, (self.to - self.from).length());
        std::f64::consts::PI / 3.0 * length * (a * a + a * b + b * b)
    }
}

/// A grown tree, its foot at the origin.
#[derive(Debug)]
pub struct Tree {
    /// Stem and branches.
    pub wood: Vec<Segment>,
    /// Leaves or needles; none on a broad-leaved tree in winter.
    pub leaves: Vec<Leaf>,
    /// Its intended size.
    pub size: Size,
    /// Height of the highest shoot, m.
    pub top: f64,
    /// Volume of the wood of the stem, with its leaders, m³.
    pub stem_volume: f64,
}

/// Grows a tree of `species` in the conditions `standing`; the same `rng` gives the same tree.
pub fn grow(species: &Species, standing: &Standing, rng: &mut Philox) -> Tree {
    let habit = &species.habit;
    let size = Size::draw(habit, standing, rng);
    let envelope = Envelope::draw(habit, &size, standing, rng);
    let mut nodes = branching::grow(habit, &size, standing, envelope, rng);
    skeleton::set_radii(&mut nodes, habit.pipe, size.diameter, size.height);
    let leaves = if standing.leaves || habit.conifer {
        foliage::leaves(&nodes, &habit.foliage, size.crown_radius, rng)
    } else {
        Vec::new()
    };
    let segment = |n: &skeleton::Node| {
        let parent = &nodes[n.parent as usize];
        // A branch starts with its own radius, not with that of the stem.
        let radius = match parent.order == n.order {
            true => [parent.radius, n.radius],
            false => [n.radius; 2],
        };
        let (from, to) = (parent.at, n.at);
        Segment { from, to, radius }
    };
    let above = &nodes[1..];
    let stem = above.iter().filter(|n| n.order == 0);
    Tree {
        wood: above.iter().map(segment).collect(),
        leaves,
        size,
        top: above.iter().map(|n| n.at.z).fold(0.0, f64::max),
        stem_volume: stem.map(|n| segment(n).volume()).sum(),
    }
}
