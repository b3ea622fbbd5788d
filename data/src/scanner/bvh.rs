//! Bounding volume hierarchy: a tree of boxes over shapes, so that a ray is tested against few of them.

use super::shape::{Hit, Ray, Shape, Surface};

const BINS: usize = 12;
const LEAF: usize = 4;
/// Entries of the traversal stack, at most one per level: far more than log₂ of the number of shapes.
const STACK: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Node {
    min: [f32; 3],
    /// First shape of a leaf, or the second child of an inner node (the first follows it).
    link: u32,
    max: [f32; 3],
    /// Shapes of a leaf; 0 marks an inner node.
    count: u32,
}

/// A bounding volume hierarchy over shapes.
#[derive(Debug)]
pub struct Bvh {
    nodes: Vec<Node>,
    shapes: Vec<Shape>,
}

struct Item {
    bounds: Bounds,
    centre: [f32; 3],
    shape: Shape,
}

/// Minimum and maximum corner.
type Bounds = ([f32; 3], [f32; 3]);

fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn join(a: &mut Bounds, b: &Bounds) {
    for k in 0..3 {
        a.0[k] = lesser(a.0[k], b.0[k]);
        a.1[k] = greater(a.1[k], b.1[k]);
    }
}

const EMPTY: Bounds = ([f32::MAX; 3], [f32::MIN; 3]);

/// Area × count of a part of a node, up to a factor.
fn cost(b: &Bounds, count: usize) -> f32 {
    if count == 0 {
        return 0.0;
    }
    let d = [0, 1, 2].map(|k| b.1[k] - b.0[k]);
    (d[0] * d[1] + d[1] * d[2] + d[2] * d[0]) * count as f32
}

impl Bvh {
    /// Builds the hierarchy over `shapes` with the binned surface area heuristic (Wald 2007).
    pub fn build(shapes: impl Iterator<Item = Shape>) -> Self {
        let item = |shape: Shape| {
            let bounds @ (min, max) = shape.bounds();
            let centre = [0, 1, 2].map(|k| 0.5 * (min[k] + max[k]));
            Item {
                bounds,
                centre,
                shape,
            }
        };
        let mut items: Vec<Item> = shapes.map(item).collect();
        let mut nodes = Vec::with_capacity(items.len());
        if !items.is_empty() {
            grow(&mut nodes, &mut items, 0);
        }
        let shapes = items.iter().map(|i| i.shape).collect();
        Self { nodes, shapes }
    }

    /// The nearest hit of `ray`, and its surface, if it is closer than `limit`.
    pub fn hit(&self, ray: &Ray, mut limit: f32) -> Option<(Hit, Surface)> {
        let mut best = None;
        let mut stack = [(0u32, 0f32); STACK];
        let mut top = 0;
        if let Some(t) = self.nodes.first().and_then(|root| enter(root, ray, limit)) {
            stack[0] = (0, t);
            top = 1;
        }
        while top > 0 {
            top -= 1;
            let (mut at, t) = stack[top];
            if t >= limit {
                continue;
            }
            loop {
                let node = &self.nodes[at as usize];
                if node.count > 0 {
                    let first = node.link as usize;
                    for shape in &self.shapes[first..first + node.count as usize] {
                        if let Some(hit) = shape.hit(ray, limit) {
                            limit = hit.0.t;
                            best = Some(hit);
                        }
                    }
                    break;
                }
                let (left, right) = (at + 1, node.link);
                let a = enter(&self.nodes[left as usize], ray, limit);
                let b = enter(&self.nodes[right as usize], ray, limit);
                at = match (a, b) {
                    (None, None) => break,
                    (Some(_), None) => left,
                    (None, Some(_)) => right,
                    (Some(ta), Some(tb)) => {
                        let (near, far) = match ta <= tb {
                            true => (left, (right, tb)),
                            false => (right, (left, ta)),
                        };
                        stack[top] = far;
                        top += 1;
                        near
                    }
                };
            }
        }
        best
    }
}

/// The distance at which `ray` enters the box of `node`, if it does so before `limit`.
fn enter(node: &Node, ray: &Ray, limit: f32) -> Option<f32> {
    let (mut near, mut far) = (0.0, limit);
    for k in 0..3 {
        let a = (node.min[k] - ray.origin[k]) * ray.inverse[k];
        let b = (node.max[k] - ray.origin[k]) * ray.inverse[k];
        near = greater(near, lesser(a, b));
        far = lesser(far, greater(a, b));
    }
    (near <= far).then_some(near)
}

/// Appends the nodes over `items`, the first of which becomes shape `first`, and sorts the items by leaf.
fn grow(nodes: &mut Vec<Node>, items: &mut [Item], first: usize) {
    let (mut bounds, mut centres) = (EMPTY, EMPTY);
    for i in items.iter() {
        join(&mut bounds, &i.bounds);
        join(&mut centres, &(i.centre, i.centre));
    }
    let me = nodes.len();
    nodes.push(Node {
        min: bounds.0,
        link: first as u32,
        max: bounds.1,
        count: items.len() as u32,
    });
    if items.len() <= LEAF {
        return;
    }
    let middle = split(items, &centres);
    let (left, right) = items.split_at_mut(middle);
    grow(nodes, left, first);
    nodes[me].link = nodes.len() as u32;
    nodes[me].count = 0;
    grow(nodes, right, first + middle);
}

/// Splits `items` in two along the widest axis of their centres; neither part is empty.
fn split(items: &mut [Item], centres: &Bounds) -> usize {
    let size = [0, 1, 2].map(|k| centres.1[k] - centres.0[k]);
    let axis = (0..3).fold(0, |a, k| if size[k] > size[a] { k } else { a });
    let middle = items.len() / 2;
    if size[axis] <= 0.0 {
        return middle;
    }
    let scale = BINS as f32 / size[axis];
    let bin = |i: &Item| (((i.centre[axis] - centres.0[axis]) * scale) as usize).min(BINS - 1);
    let mut bins = [(EMPTY, 0usize); BINS];
    for i in items.iter() {
        let b = &mut bins[bin(i)];
        join(&mut b.0, &i.bounds);
        b.1 += 1;
    }
    let cut = cheapest(&bins);
    let mut left = 0;
    for i in 0..items.len() {
        if bin(&items[i]) < cut {
            items.swap(left, i);
            left += 1;
        }
    }
    if left == 0 || left == items.len() {
        middle
    } else {
        left
    }
}

/// The bin before which to split, so that the sum of area × count over both sides is minimal.
fn cheapest(bins: &[(Bounds, usize); BINS]) -> usize {
    let mut above = [0.0; BINS];
    let (mut bounds, mut count) = (EMPTY, 0);
    for k in (1..BINS).rev() {
        join(&mut bounds, &bins[k].0);
        count += bins[k].1;
        above[k] = cost(&bounds, count);
    }
    let (mut bounds, mut count, mut best, mut least) = (EMPTY, 0, BINS / 2, f32::MAX);
    for k in 1..BINS {
        join(&mut bounds, &bins[k - 1].0);
        count += bins[k - 1].1;
        let both = above[k] + cost(&bounds, count);
        if count > 0 && above[k] > 0.0 && both < least {
            (best, least) = (k, both);
        }
    }
    best
}
