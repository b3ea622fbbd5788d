//! The skeleton of a tree: nodes joined to their parents by tapered segments.

use super::vec3::Vec3;

/// A point on an axis. The segment to its parent is wood.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Its position, metres from the foot of the stem.
    pub at: Vec3,
    /// The node that it grew from, always an earlier one; the foot is its own parent.
    pub parent: u32,
    /// 0 stem and leaders, 1 their branches, and so on.
    pub order: u8,
    /// Foliage of its segment, relative to the others.
    pub leafy: f32,
    /// Radius of the wood here, metres.
    pub radius: f64,
}

/// Sets the radius of every node by the pipe model: rⁿ of a parent is the sum of rⁿ over its children.
///
/// Shinozaki et al. 1964 ("A quantitative analysis of plant form: the pipe model theory") use n = 2, like
/// Leonardo da Vinci's rule; measured trees have about 2 to 2.5. The radii are scaled so that the stem has
/// `diameter` at 1.3 m. The taper of the bare bole and the flare of its foot are set by hand.
pub fn set_radii(nodes: &mut [Node], exponent: f64, diameter: f64, height: f64) {
    let mut pipes = vec![0.0; nodes.len()];
    for i in (1..nodes.len()).rev() {
        let parent = nodes[i].parent as usize;
        pipes[i] += 0.5 * (nodes[i].at - nodes[parent].at).length() + 0.05;
        pipes[parent] += pipes[i];
    }
    let shape = |z: f64| (1.0 - 0.3 * z / height).max(0.1) * (1.0 + 0.45 * libm::exp(-z / 0.3));
    for (node, pipe) in nodes.iter_mut().zip(&pipes) {
        node.radius = libm::pow(*pipe, 1.0 / exponent);
        if node.order == 0 {
            node.radius *= shape(node.at.z);
        }
    }
    let breast = nodes.iter().find(|n| n.order == 0 && n.at.z >= 1.3);
    let scale = 0.5 * diameter / breast.map_or(1.0, |n| n.radius);
    for node in nodes {
        node.radius = (node.radius * scale).max(0.004);
    }
}
