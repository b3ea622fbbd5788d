//! Surfaces that a ray can hit: tapered wood and flat foliage. `f32` is precise enough, because rays start close by.

use crate::growth::{Leaf, Segment};

/// Properties of a surface.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Fraction of light reflected at normal incidence.
    pub reflectance: f32,
    /// Whether it belongs to the tree that is scanned, not to a neighbour.
    pub own: bool,
}

/// A surface and its geometry.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Cone(Cone, Surface),
    Ellipse(Ellipse, Surface),
}

/// A frustum of a cone, open at its ends.
#[derive(Clone, Copy, Debug)]
pub struct Cone {
    foot: [f32; 3],
    /// Unit vector.
    axis: [f32; 3],
    length: f32,
    /// Radius at the foot, and its change per metre.
    radius: f32,
    slope: f32,
}

/// A flat ellipse.
#[derive(Clone, Copy, Debug)]
pub struct Ellipse {
    centre: [f32; 3],
    /// Unit vector.
    normal: [f32; 3],
    /// Its half axes over their squared lengths.
    u: [f32; 3],
    v: [f32; 3],
}

/// A half-line, with the reciprocals of its direction for tests against boxes.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub origin: [f32; 3],
    pub dir: [f32; 3],
    pub inverse: [f32; 3],
}

impl Ray {
    /// From `origin` along the unit vector `dir`.
    pub fn new(origin: [f32; 3], dir: [f32; 3]) -> Self {
        // No component is exactly 0, so no product with a reciprocal is 0 × ∞.
        let dir = dir.map(|d| if d.abs() < 1e-9 { 1e-9 } else { d });
        Self {
            origin,
            dir,
            inverse: dir.map(|d| 1.0 / d),
        }
    }
}

/// A hit of a ray on a surface.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// Distance along the ray, metres.
    pub t: f32,
    /// Cosine of the angle of incidence, 0 grazing, 1 head-on.
    pub cosine: f32,
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Shape {
    /// A piece of wood.
    pub fn wood(s: &Segment, surface: Surface) -> Self {
        let along = s.to - s.from;
        let length = along.length().max(1e-6);
        let cone = Cone {
            foot: s.from.single(),
            axis: (along * (1.0 / length)).single(),
            length: length as f32,
            radius: s.radius[0] as f32,
            slope: ((s.radius[1] - s.radius[0]) / length) as f32,
        };
        Self::Cone(cone, surface)
    }

    /// An element of foliage.
    pub fn leaf(l: &Leaf, surface: Surface) -> Self {
        let ellipse = Ellipse {
            centre: l.centre.single(),
            normal: l.long.cross(l.short).unit().single(),
            u: (l.long * (1.0 / l.long.dot(l.long).max(1e-12))).single(),
            v: (l.short * (1.0 / l.short.dot(l.short).max(1e-12))).single(),
        };
        Self::Ellipse(ellipse, surface)
    }

    /// Minimum and maximum corner of its bounding box.
    pub fn bounds(&self) -> ([f32; 3], [f32; 3]) {
        match self {
            Self::Cone(c, _) => {
                let top = c.radius + c.slope * c.length;
                let at = |a: usize, end: f32| c.foot[a] + c.axis[a] * end;
                let r = if c.radius > top { c.radius } else { top };
                let low = [0, 1, 2].map(|a| at(a, 0.0).min(at(a, c.length)) - r);
                let high = [0, 1, 2].map(|a| at(a, 0.0).max(at(a, c.length)) + r);
                (low, high)
            }
            Self::Ellipse(e, _) => {
                // A half axis is u / |u|²; an ellipse reaches √(a² + b²) along each coordinate.
                let (uu, vv) = (dot(e.u, e.u), dot(e.v, e.v));
                let reach = [0, 1, 2].map(|a| {
                    let (p, q) = (e.u[a] / uu, e.v[a] / vv);
                    (p * p + q * q).sqrt() + 1e-4
                });
                (sub(e.centre, reach), [0, 1, 2].map(|a| e.centre[a] + reach[a]))
            }
        }
    }

    /// The first hit of `ray` on it, if it is closer than `limit`.
    pub fn hit(&self, ray: &Ray, limit: f32) -> Option<(Hit, Surface)> {
        match self {
            Self::Cone(c, surface) => Some((c.hit(ray, limit)?, *surface)),
            Self::Ellipse(e, surface) => Some((e.hit(ray, limit)?, *surface)),
        }
    }
}

impl Cone {
    fn hit(&self, ray: &Ray, limit: f32) -> Option<Hit> {
        let &Self { axis, slope, .. } = self;
        let from = sub(ray.origin, self.foot);
        let (m, n) = (dot(from, axis), dot(ray.dir, axis));
        // |o + td − foot − h axis|² = (radius + slope h)², h = m + tn: a quadratic in t.
        let r = self.radius + slope * m;
        let a = 1.0 - n * n - slope * slope * n * n;
        let b = dot(from, ray.dir) - m * n - slope * n * r;
        let c = dot(from, from) - m * m - r * r;
        let root = b * b - a * c;
        if root <= 0.0 || a <= 1e-9 {
            return None;
        }
        let t = (-b - root.sqrt()) / a;
        let h = m + t * n;
        if t <= 0.0 || t >= limit || h < 0.0 || h > self.length {
            return None;
        }
        let radius = self.radius + slope * h;
        let outward = [0, 1, 2].map(|k| from[k] + t * ray.dir[k] - h * axis[k]);
        let cosine = (-dot(outward, ray.dir) / radius.max(1e-6)).clamp(0.0, 1.0);
        Some(Hit { t, cosine })
    }
}

impl Ellipse {
    fn hit(&self, ray: &Ray, limit: f32) -> Option<Hit> {
        let facing = dot(ray.dir, self.normal);
        let from = sub(self.centre, ray.origin);
        let t = dot(from, self.normal) / facing;
        // Written so that a parallel ray, whose t is infinite or NaN, misses.
        if !(t > 0.0 && t < limit) {
            return None;
        }
        let p = [0, 1, 2].map(|k| t * ray.dir[k] - from[k]);
        let (x, y) = (dot(p, self.u), dot(p, self.v));
        let cosine = facing.abs().min(1.0);
        (x * x + y * y <= 1.0).then_some(Hit { t, cosine })
    }
}
