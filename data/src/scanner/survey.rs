//! Positions of a scanner and directions of its pulses.

use std::f64::consts::{PI, TAU};

use crate::{Philox, Scan, growth::Vec3};

use super::beam::Optics;

/// The volume that a survey must cover: a cylinder on the ground, metres.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its height.
    pub height: f64,
    /// Its radius.
    pub radius: f64,
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

/// The scanners of `scan`; an unknown scan counts as terrestrial.
pub fn optics(scan: Scan) -> Optics {
    match scan {
        Scan::Tls | Scan::Unknown => Optics {
            rays: 2,
            divergence: 0.15e-3,
            exit_radius: 0.003,
            resolution: 0.06,
            range_noise: 0.004,
            reference_range: 12.0,
            threshold: 0.02,
        },
        Scan::Uls => Optics {
            rays: 3,
            divergence: 0.5e-3,
            exit_radius: 0.005,
            resolution: 0.4,
            range_noise: 0.02,
            reference_range: 60.0,
            threshold: 0.05,
        },
        Scan::Als => Optics {
            rays: 5,
            divergence: 0.25e-3,
            exit_radius: 0.01,
            resolution: 0.7,
            range_noise: 0.03,
            reference_range: 650.0,
            threshold: 0.06,
        },
    }
}

/// About `count` pulses over `target`, by a survey drawn at random.
pub fn pulses(scan: Scan, target: &Target, count: usize, rng: &mut Philox) -> Vec<Pulse> {
    match scan {
        Scan::Tls | Scan::Unknown => tripods(target, 3 + rng.below(4), count, rng),
        Scan::Uls => strips(
            target,
            count,
            (3 + rng.below(4), rng.range(45.0, 80.0), 0.75),
            rng,
        ),
        Scan::Als => strips(
            target,
            count,
            (2 + rng.below(3), rng.range(450.0, 900.0), 0.27),
            rng,
        ),
    }
}

/// Pulses from `stations` tripods around the tree, on one regular angular grid; the first is at a random azimuth.
pub fn tripods(target: &Target, stations: usize, count: usize, rng: &mut Philox) -> Vec<Pulse> {
    struct Window {
        origin: Vec3,
        ahead: f64,
        half: f64,
        low: f64,
        high: f64,
        skip: f64,
    }
    let first = rng.range(0.0, TAU);
    let windows: Vec<Window> = (0..stations)
        .map(|k| {
            let azimuth = first + TAU * (k as f64 + rng.range(-0.35, 0.35)) / stations as f64;
            let distance = (target.height * rng.range(0.45, 0.95)).clamp(4.0, 20.0);
            let origin = Vec3::polar(PI / 2.0, azimuth) * distance + Vec3::UP * 1.6;
            let near = (distance - 0.7 * target.radius).max(1.5);
            Window {
                origin,
                ahead: azimuth + PI,
                half: libm::atan2(target.radius, near).min(1.2),
                low: libm::atan2(-1.5, distance),
                high: libm::atan2(target.height - 1.4, near),
                skip: 0.5,
            }
        })
        .collect();
    let area: f64 = windows.iter().map(|w| 2.0 * w.half * (w.high - w.low)).sum();
    let step = (area / count as f64).sqrt();
    let mut pulses = Vec::with_capacity(count + count / 8);
    for (station, w) in windows.iter().enumerate() {
        let mut turn = -w.half + step * rng.uniform_f64();
        while turn < w.half {
            let mut rise = w.low + step * rng.uniform_f64();
            while rise < w.high {
                let dir = Vec3::polar(PI / 2.0 - rise, w.ahead + turn);
                pulses.push(Pulse {
                    origin: w.origin,
                    dir,
                    skip: w.skip,
                    station,
                });
                rise += step;
            }
            turn += step;
        }
    }
    pulses
}

/// Pulses from strips flown past the tree; `flight` is (strips, height above ground, maximum tangent of the angle).
fn strips(target: &Target, count: usize, flight: (usize, f64, f64), rng: &mut Philox) -> Vec<Pulse> {
    let (strips, altitude, slant) = flight;
    let heading = rng.range(0.0, TAU);
    let middle = 0.55 * target.height;
    let mut pulses = Vec::with_capacity(count + count / 8);
    for station in 0..strips {
        // Crossing strips: every other one is flown at a right angle.
        let along = Vec3::polar(
            PI / 2.0,
            heading + 0.5 * PI * (station % 2) as f64 + 0.1 * rng.normal(),
        );
        let across = Vec3::new(-along.y, along.x, 0.0);
        let offset = altitude * slant * rng.range(-1.0, 1.0);
        let lean = 0.5 * target.height * offset.abs() / altitude;
        let (half_along, half_across) = (target.radius, target.radius + lean);
        let share = count as f64 / strips as f64;
        let step = (4.0 * half_along * half_across / share).sqrt();
        let mut s = -half_along + step * rng.uniform_f64();
        while s < half_along {
            let mut c = -half_across + step * rng.uniform_f64();
            while c < half_across {
                let jitter = (step * rng.range(-0.3, 0.3), step * rng.range(-0.3, 0.3));
                let track = along * (s + jitter.0);
                let origin = track + across * offset + Vec3::UP * altitude;
                let aim = track + across * (c + jitter.1) + Vec3::UP * middle;
                let ray = aim - origin;
                let dir = ray.unit();
                // Up to a level just above the target.
                let skip = (altitude - target.height - 0.5).max(0.0) / -dir.z;
                pulses.push(Pulse {
                    origin,
                    dir,
                    skip,
                    station,
                });
                c += step;
            }
            s += step;
        }
    }
    pulses
}
