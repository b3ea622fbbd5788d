//! A laser pulse: a few rays within its beam, and the returns that a receiver detects in their echoes.

use serde::Deserialize;

use crate::{Philox, Return, growth::Vec3};

use super::{bvh::Bvh, shape::Ray};

/// Properties of a scanner's beam and receiver.
#[derive(Debug, Deserialize)]
pub struct Optics {
    /// Rays that sample the beam, at most [`MOST_RAYS`].
    pub rays: usize,
    /// Half the beam's divergence, radians.
    pub divergence: f64,
    /// Radius of the beam at the scanner, metres.
    pub exit_radius: f64,
    /// Echoes nearer than this merge into one return, metres.
    pub resolution: f32,
    /// Standard deviation of a range, metres.
    pub range_noise: f64,
    /// Reference range of the intensity, metres: its factor for distance is 1 there.
    pub reference_range: f64,
    /// Weakest echo that is detected, as a fraction of the pulse's light.
    pub threshold: f32,
}

/// One pulse: origin, direction (unit vector), and the distance before the target that is skipped.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    pub origin: Vec3,
    pub dir: Vec3,
    pub skip: f64,
    /// Number of the station or strip.
    pub station: usize,
}

/// A point that the receiver detects.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// Its measured position.
    pub at: Vec3,
    /// Strength at reference range, 0 to 1.
    pub energy: f32,
    /// Range from the scanner, metres.
    pub range: f64,
    /// Its number among the returns of the pulse, and how many there are.
    pub ret: Return,
    /// Whether it is on the scanned tree.
    pub own: bool,
}

/// What one ray meets.
#[derive(Clone, Copy, Default)]
struct Glint {
    t: f32,
    energy: f32,
    own: bool,
}

const MOST_RAYS: usize = 5;
/// Maximum length of a ray within the scene, metres.
const FAR: f32 = 200.0;

/// Casts one pulse and appends its echoes.
///
/// Rays begin `skip` metres from the scanner, just before the scene, so that `f32` resolves millimetres.
pub fn cast(bvh: &Bvh, optics: &Optics, pulse: &Pulse, rng: &mut Philox, out: &mut Vec<Echo>) {
    let &Pulse {
        origin, dir, skip, ..
    } = pulse;
    let mut glints = [Glint::default(); MOST_RAYS];
    let mut count = 0;
    let (u, v) = dir.sides();
    let share = 1.0 / optics.rays as f32;
    let turn = rng.range(0.0, std::f64::consts::TAU);
    let width = optics.divergence + optics.exit_radius / skip.max(1.0);
    for k in 0..optics.rays {
        let off = if k == 0 { 0.0 } else { width * 0.7 };
        let around = turn + 2.4 * k as f64;
        let aim = (dir + u * (off * libm::cos(around)) + v * (off * libm::sin(around))).unit();
        let start = origin + aim * skip;
        let ray = Ray::new(start.single(), aim.single());
        // The ground, z = 0, ends a ray.
        let falls = aim.z < 0.0;
        let ground = if falls { (-start.z / aim.z) as f32 } else { FAR };
        let (t, energy, own) = match bvh.hit(&ray, ground) {
            Some((hit, surface)) => {
                let energy = share * surface.reflectance * (0.2 + 0.8 * hit.cosine);
                (hit.t, energy, surface.own)
            }
            None if ground < FAR => (ground, share * 0.3, false),
            None => continue,
        };
        glints[count] = Glint { t, energy, own };
        count += 1;
    }
    let glints = &mut glints[..count];
    glints.sort_by(|a, b| a.t.total_cmp(&b.t));
    let first = out.len();
    let mut rest = &*glints;
    while let Some(nearest) = rest.first() {
        let merged = 1 + rest[1..].partition_point(|g| g.t - nearest.t < optics.resolution);
        let (group, further) = rest.split_at(merged);
        let energy: f32 = group.iter().map(|g| g.energy).sum();
        if energy >= optics.threshold {
            let t = group.iter().map(|g| g.t * g.energy).sum::<f32>() / energy;
            let range = skip + f64::from(t) + optics.range_noise * rng.normal();
            out.push(Echo {
                at: origin + dir * range,
                energy,
                range,
                ret: Return::default(),
                own: nearest.own,
            });
        }
        rest = further;
    }
    let of = (out.len() - first) as u8;
    for (number, echo) in (1..).zip(&mut out[first..]) {
        echo.ret = Return { number, of };
    }
}
