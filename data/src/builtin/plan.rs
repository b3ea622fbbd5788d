//! The plan of the forest: species, plot, growing conditions and scans of each tree.
//!
//! Everything about tree `index` follows from (seed, index), so a longer plan begins with a shorter one.

use crate::{Philox, Scan, growth::Standing, species::COUNT};

/// Plots of the forest.
const PLOTS: usize = 14;

/// One tree of the plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its name, `p03-t017`: plot and place in it, nothing else.
    pub name: String,
    /// Its plot's name.
    pub plot: String,
    /// Index into the species.
    pub species: usize,
    /// How it grew up.
    pub standing: Standing,
    /// How it was scanned: once, or twice by different scanners.
    pub scans: Vec<Scan>,
}

/// What all trees of a plot share.
struct Plot {
    diameter: f64,
    site: f64,
    density: f64,
    winter: bool,
    weights: [f64; COUNT],
    /// Share of terrestrial scans; drones have 85 % of the rest, and the remainder is airborne.
    tls: f64,
}

/// Which stream of random numbers serves what. The low 32 bits hold an index.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Plot = 1,
    Plan = 2,
    Growth = 3,
    Scan = 4,
    Order = 5,
}

/// The stream of `purpose` for `index`.
pub(super) fn stream(seed: u64, purpose: Stream, index: usize) -> Philox {
    Philox::new(seed, (purpose as u64) << 32 | index as u64)
}

fn plot(seed: u64, number: usize) -> Plot {
    let mut rng = stream(seed, Stream::Plot, number);
    // Fields are drawn in this order.
    Plot {
        diameter: rng.range(16.0, 42.0),
        site: rng.range(0.85, 1.15),
        density: rng.range(0.1, 0.75),
        winter: rng.uniform_f64() < 0.25,
        weights: std::array::from_fn(|_| rng.range(0.5, 1.5)),
        tls: rng.range(0.3, 0.8),
    }
}

/// Tree `index` of the forest of `seed`.
pub fn tree(seed: u64, index: usize) -> Planned {
    let number = index % PLOTS;
    let plot = plot(seed, number);
    let mut rng = stream(seed, Stream::Plan, index);
    let species = weighted(&plot.weights, &mut rng);
    let diameter = plot.diameter * libm::exp(0.28 * rng.normal().clamp(-2.2, 2.2));
    let standing = Standing {
        diameter: diameter.clamp(8.0, 75.0),
        site: plot.site,
        crowding: (plot.density + 0.17 * rng.normal()).clamp(0.0, 1.0),
        age: ((plot.diameter - 12.0) / 32.0 + 0.2 * rng.normal()).clamp(0.0, 1.0),
        leaves: !plot.winter,
    };
    let mut scans = vec![scanner(&plot, &mut rng)];
    let second = scanner(&plot, &mut rng);
    if rng.uniform_f64() < 0.25 && second != scans[0] {
        scans.push(second);
    }
    Planned {
        name: format!("p{:02}-t{:03}", number + 1, index / PLOTS + 1),
        plot: format!("plot {:02}", number + 1),
        species,
        standing,
        scans,
    }
}

fn scanner(plot: &Plot, rng: &mut Philox) -> Scan {
    let u = rng.uniform_f64();
    if u < plot.tls {
        Scan::Tls
    } else if u < plot.tls + (1.0 - plot.tls) * 0.85 {
        Scan::Uls
    } else {
        Scan::Als
    }
}

fn weighted(weights: &[f64], rng: &mut Philox) -> usize {
    let mut left = rng.uniform_f64() * weights.iter().sum::<f64>();
    for (k, w) in weights.iter().enumerate() {
        left -= w;
        if left < 0.0 {
            return k;
        }
    }
    weights.len() - 1
}
