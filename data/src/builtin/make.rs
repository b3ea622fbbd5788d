//! Generates and scans the planned trees.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    Cloud, Dataset, Inventory, Philox, Scan, Season, Site, TreeRecord, growth,
    scanner::{Neighbours, Scene},
    shard,
    species::SPECIES,
};

use super::{
    Config,
    plan::{self, Planned, Stream, stream},
    species_names,
};

/// Factors on the height below which a site is poor, and from which it is good: thirds of the range of the plots.
const POOR: f64 = 0.95;
const GOOD: f64 = 1.05;

/// Least number of points of a full-resolution scan.
const FULL: usize = 1_000_000;

/// A set in memory: its records, and for each its cloud.
#[derive(Debug)]
pub struct Made {
    /// The scans' records, in an order that is independent of species.
    pub records: Vec<TreeRecord>,
    /// The clouds, in the records' order.
    pub clouds: Vec<Cloud>,
}

impl Made {
    /// The set in memory, with its digest.
    pub fn dataset(self) -> Result<Dataset> {
        let (name, source) = ("builtin".to_owned(), Arc::new(self.clouds));
        let mut set = Dataset::new(name, species_names(), self.records, String::new(), source);
        set.digest = shard::digest(&set)?;
        Ok(set)
    }
}

/// One scan of the plan: tree, and which of its scans.
#[derive(Clone, Copy, Debug)]
struct Job {
    tree: usize,
    scan: usize,
}

/// Generates and scans every tree of `config` on all threads. `progress` is called with (scans done, all scans).
pub fn make(config: &Config, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Made> {
    let planned: Vec<Planned> = (0..config.trees).map(|i| plan::tree(config.seed, i)).collect();
    let mut jobs: Vec<Job> = planned
        .iter()
        .enumerate()
        .flat_map(|(tree, p)| (0..p.scans.len()).map(move |scan| Job { tree, scan }))
        .collect();
    stream(config.seed, Stream::Order, 0).shuffle(&mut jobs);
    let done = AtomicUsize::new(0);
    progress(0, jobs.len());
    let made = jobs
        .par_iter()
        .map(|job| {
            let one = sampled(config.seed, job.tree, &planned[job.tree], job.scan, config.points)?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
            Ok(one)
        })
        .collect::<Result<Vec<_>>>()?;
    let (clouds, inventories): (Vec<Cloud>, Vec<Inventory>) = made.into_iter().unzip();
    let records = jobs
        .iter()
        .zip(inventories)
        .map(|(job, inventory)| {
            let p = &planned[job.tree];
            TreeRecord {
                tree: p.name.clone(),
                species: p.species,
                plot: p.plot.clone(),
                scan: p.scans[job.scan],
                source: format!("built-in tree {} (seed {})", p.name, config.seed),
                inventory: Some(inventory),
            }
        })
        .collect();
    Ok(Made { records, clouds })
}

/// Tree `index` grown, with its neighbours; and its true measures.
fn scene(seed: u64, index: usize, planned: &Planned) -> (Scene, Inventory) {
    let species = &SPECIES[planned.species];
    let mut rng = stream(seed, Stream::Growth, index);
    let tree = growth::grow(species, &planned.standing, &mut rng);
    let neighbours = Neighbours::draw(&tree.size, planned.standing.crowding, &mut rng);
    let inventory = Inventory {
        height: tree.top as f32,
        diameter: tree.size.diameter as f32,
        volume: tree.stem_volume as f32,
        site: match planned.standing.site {
            site if site < POOR => Site::Poor,
            site if site < GOOD => Site::Medium,
            _ => Site::Good,
        },
        season: if planned.standing.leaves {
            Season::Summer
        } else {
            Season::Winter
        },
    };
    (Scene::new(&tree, &species.habit, &neighbours), inventory)
}

/// A scan of the tree, with its own stream of random numbers.
fn stream_of_scan(seed: u64, index: usize, scan: usize) -> Philox {
    stream(seed, Stream::Scan, index * 4 + scan)
}

/// `points` points of a scan, drawn at random, in random order; and the tree's true measures.
fn sampled(
    seed: u64,
    index: usize,
    planned: &Planned,
    scan: usize,
    points: usize,
) -> Result<(Cloud, Inventory)> {
    let (scene, inventory) = scene(seed, index, planned);
    let cloud = at_least(&scene, planned.scans[scan], points, || {
        stream_of_scan(seed, index, scan)
    })?;
    let mut order = stream(seed, Stream::Order, index * 4 + scan + 1);
    Ok((draw(&cloud, points, &mut order), inventory))
}

/// Every point of a scan with more than a million of them.
pub fn full(seed: u64, index: usize, planned: &Planned, scan: usize) -> Result<Cloud> {
    at_least(&scene(seed, index, planned).0, planned.scans[scan], FULL, || {
        stream_of_scan(seed, index, scan)
    })
}

/// Scans with finer and finer steps until there are `points` points.
fn at_least(scene: &Scene, scan: Scan, points: usize, rng: impl Fn() -> Philox) -> Result<Cloud> {
    let mut pulses = 3 * points;
    for _ in 0..6 {
        let cloud = scene.scan(scan, pulses, &mut rng());
        if cloud.len() >= points {
            return Ok(cloud);
        }
        // As many as the last scan suggests, and some more.
        let needed = 1.2 * pulses as f64 * points as f64 / cloud.len().max(points / 20 + 1) as f64;
        pulses = needed as usize + 1;
    }
    ensure!(
        false,
        "a {scan:?} scan gave fewer than {points} points: this is a fault of the scanner"
    );
    Ok(Cloud::default())
}

/// `points` points of `cloud` without repetition, in random order.
pub fn draw(cloud: &Cloud, points: usize, rng: &mut Philox) -> Cloud {
    let mut order: Vec<usize> = (0..cloud.len()).collect();
    let points = points.min(order.len());
    for i in 0..points {
        let other = i + rng.below(order.len() - i);
        order.swap(i, other);
    }
    cloud.select(&order[..points])
}

/// One tree's first scan: sampled or whole.
pub fn one(seed: u64, index: usize, points: Option<usize>) -> Result<Cloud> {
    let planned = plan::tree(seed, index);
    match points {
        Some(points) => Ok(sampled(seed, index, &planned, 0, points)?.0),
        None => full(seed, index, &planned, 0),
    }
}
