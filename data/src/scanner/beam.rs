//! A laser pulse: a few rays within its beam, and the returns that a receiver detects in their echoes.

use crate::{Philox, Return, growth::Vec3};

use super::{
    bvh::Bvh,
    shape::{Ray, Surface},
};

/// Properties of a scanner's beam and receiver.
#[derive(Clone, Copy, Debug)]
pub struct Optics {
    /// Rays that sample the beam.
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

#[derive(Clone, Copy)]
struct Glint {
    t: f32,
    energy: f32,
    surface: Surface,
}

/// Maximum length of a ray within the scene, metres.
const FAR: f32 = 200.0;

/// Casts one pulse from `origin` along the unit vector `dir` and appends its echoes.
///
/// Rays begin `skip` metres from the scanner, just before the scene, so that `f32` resolves millimetres.
pub fn pulse(
    bvh: &Bvh,
    optics: &Optics,
    origin: Vec3,
    dir: Vec3,
    skip: f64,
    rng: &mut Philox,
    out: &mut Vec<Echo>,
) {
    let mut glints = [Glint {
        t: 0.0,
        energy: 0.0,
        surface: Surface {
            reflectance: 0.0,
            own: false,
        },
    }; 8];
    let mut count = 0;
    let (u, v) = dir.sides();
    let share = 1.0 / optics.rays as f32;
    let turn = rng.range(0.0, std::f64::consts::TAU);
    let width = optics.divergence + optics.exit_radius / skip.max(1.0);
    for k in 0..optics.rays.min(glints.len()) {
        let off = if k == 0 { 0.0 } else { width * 0.7 };
        let around = turn + 2.4 * k as f64;
        let aim = (dir + u * (off * libm::cos(around)) + v * (off * libm::sin(around))).unit();
        let start = origin + aim * skip;
        let ray = Ray::new(single(start), single(aim));
        // The ground, z = 0, ends a ray.
        let ground = if aim.z < 0.0 {
            (-start.z / aim.z) as f32
        } else {
            FAR
        };
        if let Some((hit, surface)) = bvh.hit(&ray, ground) {
            let energy = share * surface.reflectance * (0.2 + 0.8 * hit.cosine);
            glints[count] = Glint {
                t: hit.t,
                energy,
                surface,
            };
            count += 1;
        } else if ground < FAR {
            let surface = Surface {
                reflectance: 0.3,
                own: false,
            };
            glints[count] = Glint {
                t: ground,
                energy: share * 0.3,
                surface,
            };
            count += 1;
        }
    }
    let glints = &mut glints[..count];
    glints.sort_by(|a, b| a.t.total_cmp(&b.t));
    let first = out.len();
    let mut k = 0;
    while k < glints.len() {
        let mut end = k + 1;
        while end < glints.len() && glints[end].t - glints[k].t < optics.resolution {
            end += 1;
        }
        let group = &glints[k..end];
        let energy: f32 = group.iter().map(|g| g.energy).sum();
        if energy >= optics.threshold {
            let t = group.iter().map(|g| g.t * g.energy).sum::<f32>() / energy;
            let range = skip + f64::from(t) + optics.range_noise * rng.normal();
            let own = group[0].surface.own;
            out.push(Echo {
                at: origin + dir * range,
                energy,
                range,
                ret: Return::default(),
                own,
            });
        }
        k = end;
    }
    let of = (out.len() - first) as u8;
    for (k, echo) in out[first..].iter_mut().enumerate() {
        echo.ret = Return {
            number: k as u8 + 1,
            of,
        };
    }
}

fn single(v: Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}
