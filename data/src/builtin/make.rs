//! Generates and scans the planned trees.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, bail};
use rayon::prelude::*;

use super::{
    Config,
    plan::{self, Planned, Stream, stream},
    species_names,
};
use crate::{
    Cloud, Dataset, Inventory, Philox, Season, Site, TreeRecord, growth,
    scanner::{Scene, neighbours},
    shard,
    species::SPECIES,
};

/// Factors on the height below which a site is poor, and from which it is good: thirds of the range of the plots.
const POOR: f64 = 0.95;
const GOOD: f64 = 1.05;

/// Least number of points of a full-resolution scan.
const FULL: usize = 1_000_000;

/// Generates and scans every tree of `config` on all threads: a set in memory, in an order that does not depend on the species.
/// `progress` is called with (scans done, all scans).
pub fn make(config: &Config, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Dataset> {
    let seed = config.seed;
    let planned: Vec<Planned> = (0..config.trees).map(|i| plan::tree(seed, i)).collect();
    // Tree, and which of its scans.
    let mut jobs: Vec<(usize, usize)> = (0..config.trees)
        .flat_map(|tree| (0..planned[tree].scans.len()).map(move |scan| (tree, scan)))
        .collect();
    stream(seed, Stream::Order, 0).shuffle(&mut jobs);
    let done = AtomicUsize::new(0);
    progress(0, jobs.len());
    let one = |&(tree, scan): &(usize, usize)| {
        let p = &planned[tree];
        let (cloud, inventory) = scanned(seed, tree, p, scan, config.points)?;
        let mut order = stream(seed, Stream::Order, tree * 4 + scan + 1);
        let record = TreeRecord {
            tree: p.name.clone(),
            species: p.species,
            plot: p.plot.clone(),
            scan: p.scans[scan],
            source: format!("built-in tree {} (seed {seed})", p.name),
            inventory: Some(inventory),
        };
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
        Ok((record, draw(&cloud, config.points, &mut order)))
    };
    let made = jobs.par_iter().map(one).collect::<Result<Vec<_>>>()?;
    let (records, clouds): (_, Vec<Cloud>) = made.into_iter().unzip();
    let mut set = Dataset::new(
        "builtin".into(),
        species_names(),
        records,
        String::new(),
        Arc::new(clouds),
    );
    set.digest = shard::digest(&set)?;
    Ok(set)
}

/// Tree `index` grown, with its neighbours; and its true measures.
fn scene(seed: u64, index: usize, planned: &Planned) -> (Scene, Inventory) {
    let (species, standing) = (&SPECIES[planned.species], &planned.standing);
    let mut rng = stream(seed, Stream::Growth, index);
    let tree = growth::grow(species, standing, &mut rng);
    let neighbours = neighbours(&tree.size, standing.crowding, &mut rng);
    let inventory = Inventory {
        height: tree.top as f32,
        diameter: tree.size.diameter as f32,
        volume: tree.stem_volume as f32,
        site: match standing.site {
            site if site < POOR => Site::Poor,
            site if site < GOOD => Site::Medium,
            _ => Site::Good,
        },
        season: if standing.leaves {
            Season::Summer
        } else {
            Season::Winter
        },
    };
    (Scene::new(&tree, &species.habit, neighbours), inventory)
}

/// A scan of tree `index` with finer and finer steps until there are `points` points; and the tree's true measures.
fn scanned(
    seed: u64,
    index: usize,
    planned: &Planned,
    scan: usize,
    points: usize,
) -> Result<(Cloud, Inventory)> {
    let (scene, inventory) = scene(seed, index, planned);
    let kind = planned.scans[scan];
    let mut pulses = 3 * points;
    for _ in 0..6 {
        // Every attempt begins the scan's own stream of random numbers.
        let mut rng = stream(seed, Stream::Scan, index * 4 + scan);
        let cloud = scene.scan(kind, pulses, &mut rng);
        if cloud.len() >= points {
            return Ok((cloud, inventory));
        }
        // As many as the last scan suggests, and some more.
        let needed = 1.2 * pulses as f64 * points as f64 / cloud.len().max(points / 20 + 1) as f64;
        pulses = needed as usize + 1;
    }
    bail!("a {kind:?} scan gave fewer than {points} points: this is a fault of the scanner")
}

/// `points` points of `cloud` without repetition, in random order.
fn draw(cloud: &Cloud, points: usize, rng: &mut Philox) -> Cloud {
    let mut order: Vec<usize> = (0..cloud.len()).collect();
    let points = points.min(order.len());
    for i in 0..points {
        let other = i + rng.below(order.len() - i);
        order.swap(i, other);
    }
    cloud.select(&order[..points])
}

/// The first scan of tree `index` of the forest of `seed`, with all its points: more than a million. Heights are metres above
/// the tree's foot.
///
/// # Errors
/// Returns an error if the scan has too few points, which would be a bug of the scanner.
pub fn full_scan(seed: u64, index: usize) -> Result<Cloud> {
    Ok(scanned(seed, index, &plan::tree(seed, index), 0, FULL)?.0)
}
