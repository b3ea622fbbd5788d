//! Positions of a scanner and directions of its pulses.

use std::{
    f64::consts::{PI, TAU},
    iter::successors,
    sync::LazyLock,
};

use serde::Deserialize;

use crate::{Philox, Scan, growth::Vec3};

use super::beam::{Optics, Pulse};

/// The volume that a survey must cover: a cylinder on the ground, metres.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its height.
    pub height: f64,
    /// Its radius.
    pub radius: f64,
}

/// A scanner and how it is used.
#[derive(Debug, Deserialize)]
pub struct Scanner {
    pub optics: Optics,
    /// Least number of stations or strips, and how many numbers of them there are.
    views: [usize; 2],
    /// Height above ground and maximum tangent of the angle of a flight; `None` for tripods.
    flight: Option<([f64; 2], f64)>,
    /// Range of the height below which points count as undergrowth, metres.
    pub cut: [f64; 2],
}

#[derive(Deserialize)]
struct Scanners {
    tls: Scanner,
    uls: Scanner,
    als: Scanner,
}

static SCANNERS: LazyLock<Scanners> = LazyLock::new(|| {
    let scanners = toml::from_str(include_str!("scanners.toml"));
    scanners.unwrap_or_else(|e| panic!("scanners.toml: {e}"))
});

/// The scanner of `scan`; an unknown scan counts as terrestrial.
pub fn scanner(scan: Scan) -> &'static Scanner {
    match scan {
        Scan::Tls | Scan::Unknown => &SCANNERS.tls,
        Scan::Uls => &SCANNERS.uls,
        Scan::Als => &SCANNERS.als,
    }
}

impl Scanner {
    /// About `count` pulses over `target`, by a survey drawn at random.
    pub fn pulses(&self, target: &Target, count: usize, rng: &mut Philox) -> Vec<Pulse> {
        let views = self.views[0] + rng.below(self.views[1]);
        match self.flight {
            None => tripods(target, views, count, rng),
            Some(([low, high], slant)) => {
                let altitude = rng.range(low, high);
                strips(target, count, (views, altitude, slant), rng)
            }
        }
    }
}

/// From `low` in steps of `step` up to `high`, without it.
fn steps(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    successors(Some(low), move |at| Some(at + step)).take_while(move |at| *at < high)
}

/// Pulses from `stations` tripods around the tree, on one regular angular grid; the first is at a random azimuth.
fn tripods(target: &Target, stations: usize, count: usize, rng: &mut Philox) -> Vec<Pulse> {
    let first = rng.range(0.0, TAU);
    // Each station's place, the azimuth of the tree, half the width of its window, and the window's lower and upper end.
    let window = |k: usize| {
        let azimuth = first + TAU * (k as f64 + rng.range(-0.35, 0.35)) / stations as f64;
        let distance = (target.height * rng.range(0.45, 0.95)).clamp(4.0, 20.0);
        let origin = Vec3::polar(PI / 2.0, azimuth) * distance + Vec3::UP * 1.6;
        let near = (distance - 0.7 * target.radius).max(1.5);
        let half = libm::atan2(target.radius, near).min(1.2);
        let (low, high) = (
            libm::atan2(-1.5, distance),
            libm::atan2(target.height - 1.4, near),
        );
        (origin, azimuth + PI, half, low, high)
    };
    let windows: Vec<_> = (0..stations).map(window).collect();
    let area: f64 = windows
        .iter()
        .map(|(.., half, low, high)| 2.0 * half * (high - low))
        .sum();
    let step = (area / count as f64).sqrt();
    let mut pulses = Vec::with_capacity(count + count / 8);
    for (station, &(origin, ahead, half, low, high)) in windows.iter().enumerate() {
        for turn in steps(-half + step * rng.uniform_f64(), half, step) {
            for rise in steps(low + step * rng.uniform_f64(), high, step) {
                pulses.push(Pulse {
                    origin,
                    dir: Vec3::polar(PI / 2.0 - rise, ahead + turn),
                    skip: 0.5,
                    station,
                });
            }
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
        let azimuth = heading + 0.5 * PI * (station % 2) as f64 + 0.1 * rng.normal();
        let along = Vec3::polar(PI / 2.0, azimuth);
        let across = Vec3::new(-along.y, along.x, 0.0);
        let offset = altitude * slant * rng.range(-1.0, 1.0);
        let lean = 0.5 * target.height * offset.abs() / altitude;
        let (half_along, half_across) = (target.radius, target.radius + lean);
        let share = count as f64 / strips as f64;
        let step = (4.0 * half_along * half_across / share).sqrt();
        for s in steps(-half_along + step * rng.uniform_f64(), half_along, step) {
            for c in steps(-half_across + step * rng.uniform_f64(), half_across, step) {
                let jitter = (step * rng.range(-0.3, 0.3), step * rng.range(-0.3, 0.3));
                let track = along * (s + jitter.0);
                let origin = track + across * offset + Vec3::UP * altitude;
                let aim = track + across * (c + jitter.1) + Vec3::UP * middle;
                let dir = (aim - origin).unit();
                // Up to a level just above the target.
                let skip = (altitude - target.height - 0.5).max(0.0) / -dir.z;
                pulses.push(Pulse {
                    origin,
                    dir,
                    skip,
                    station,
                });
            }
        }
    }
    pulses
}
