//! IDTReeS 2020 (Zenodo 3934932): airborne plots, crown outlines, species from the field.
//!
//! A crown is clipped from the plot that covers most of it. Noise is left out, and so are points close to the ground,
//! which are ground and shrubs. Heights become heights above the ground.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use super::{
    Options,
    crowns::{self, Crown, NOWHERE, extended},
    csv_file::CsvFile,
    plan::{Damaged, Job, Plan, Tree, natural},
    walk,
};
use crate::{Cloud, Scan, TreeRecord, formats};

/// ASPRS classes of noise.
const NOISE: [u8; 2] = [7, 18];
const GROUND: u8 = 2;
/// Number of ground points that determine the ground at a place.
const NEIGHBOURS: usize = 8;
/// Plots that share more than this area, m², are one plot: their trees are neighbours.
const SHARED: f64 = 20.0;
/// A plot must cover this share of a tree's outlines, because a part at the plot's edge is not a tree.
const COVERED: f64 = 0.5;

/// The folder with `RemoteSensing/LAS`, `ITC` and `Field`: `root`, or one or two below (the zip has `train/`).
pub fn home(root: &Path) -> Option<PathBuf> {
    let mut folders = vec![root.to_owned()];
    for _ in 0..3 {
        let is_home = |p: &&PathBuf| p.join("RemoteSensing/LAS").is_dir() && p.join("ITC").is_dir();
        if let Some(home) = folders.iter().find(is_home) {
            return Some(home.clone());
        }
        folders = folders
            .iter()
            .flat_map(|f| walk::folders(f).unwrap_or_default())
            .collect();
    }
    None
}

pub fn plan(root: &Path, _: &Options) -> Result<Plan> {
    let home = home(root).context("RemoteSensing/LAS and ITC are not here, nor one or two folders below")?;
    let field = field(&home.join("Field/train_data.csv"))?;
    let plots = plots(&home.join("RemoteSensing/LAS"))?;
    let crowns = crowns_of(&home.join("ITC"))?;
    let labelled: Vec<(&String, &Vec<Crown>, &String)> = crowns
        .iter()
        .filter_map(|(id, outlines)| Some((id, outlines, field.get(id)?)))
        .collect();
    let views: Vec<Option<(usize, &Crown)>> = labelled
        .par_iter()
        .map(|(_, outlines, _)| best_view(&plots, outlines))
        .collect();
    let job = |p: &Plot| Job {
        path: p.path.clone(),
        trees: Vec::new(),
    };
    let mut jobs: Vec<Job> = plots.iter().map(job).collect();
    let outside = views.iter().filter(|v| v.is_none()).count();
    let seen = labelled.iter().zip(views);
    let seen: Vec<_> = seen
        .filter_map(|(&(id, _, label), view)| Some((id, label, view?)))
        .collect();
    let species = BTreeSet::from_iter(seen.iter().map(|s| s.1.clone()));
    let species = Vec::from_iter(species);
    for (id, label, (plot, crown)) in seen {
        let record = TreeRecord {
            tree: id.clone(),
            species: species.binary_search(label).unwrap_or(0),
            plot: plots[plot].place.clone(),
            scan: Scan::Als,
            source: format!("{}#{id}", walk::below(&home, &plots[plot].path)),
            inventory: None,
        };
        let crown = Some(crown.clone());
        jobs[plot].trees.push(Tree { record, crown });
    }
    jobs.retain(|job| !job.trees.is_empty());
    let unlabelled = crowns.len() - labelled.len();
    let mut notes = vec![
        format!("{unlabelled} crowns have no species in Field/train_data.csv, left out"),
        format!("{outside} crowns lie outside the plots by more than half, left out"),
    ];
    let mut missing = Vec::new();
    for plot in plots {
        let (name, place) = (walk::stem(&plot.path), &plot.place);
        if name != *place {
            let note = format!("plot {name} covers the ground of {place}: the two count as one plot");
            notes.push(note);
        }
        if let Err(e) = plot.points {
            let why = format!("{e:#}");
            missing.push(Damaged { path: plot.path, why });
        }
    }
    Ok(Plan {
        name: "idtrees".into(),
        species,
        notes,
        missing,
        jobs,
    })
}

/// Clips the crowns of a plot from its points `cloud`. A cloud's origin is the middle of the crown on the ground; z is the
/// height above ground, metres.
///
/// # Errors
/// Returns an error if the plot has no ground points.
pub fn clip(plot: &Job, cloud: &Cloud, min_height: f32) -> Result<Vec<(TreeRecord, Cloud)>> {
    let world =
        |i: usize| -> [f64; 3] { std::array::from_fn(|a| cloud.origin[a] + f64::from(cloud.xyz[i][a])) };
    let is_ground = |&i: &usize| cloud.class.get(i) == Some(&GROUND);
    let ground: Vec<[f64; 3]> = (0..cloud.len()).filter(is_ground).map(world).collect();
    ensure!(
        !ground.is_empty(),
        "{}: no ground points (class 2), so no height above ground",
        plot.path.display()
    );
    let clip = |tree: &Tree| {
        let crown = tree.crown.as_ref().context("a plot has trees without crowns")?;
        let [west, south, east, north] = crown.bounds;
        let origin = [(west + east) / 2.0, (south + north) / 2.0, 0.0];
        let (mut kept, mut xyz) = (Vec::new(), Vec::new());
        for i in 0..cloud.len() {
            let [x, y, z] = world(i);
            if NOISE.contains(&cloud.class[i]) || !crown.contains(x, y) {
                continue;
            }
            let height = (z - height(&ground, x, y)) as f32;
            if height > min_height {
                kept.push(i);
                xyz.push([(x - origin[0]) as f32, (y - origin[1]) as f32, height]);
            }
        }
        let mut part = cloud.select(&kept);
        (part.origin, part.xyz) = (origin, xyz);
        Ok((tree.record.clone(), part))
    };
    plot.trees.par_iter().map(clip).collect()
}

/// Height of the ground at (x, y): the nearest points of `ground`, weighted by the inverse square of their distance
/// (Shepard 1968, "A two-dimensional interpolation function for irregularly-spaced data").
fn height(ground: &[[f64; 3]], x: f64, y: f64) -> f64 {
    let squared = |p: &[f64; 3]| (p[0] - x).powi(2) + (p[1] - y).powi(2);
    // Of equally distant points, the first in the file.
    let nearer = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let mut near: Vec<(f64, usize)> = ground.iter().map(squared).zip(0..).collect();
    if near.len() > NEIGHBOURS {
        near.select_nth_unstable_by(NEIGHBOURS, nearer);
        near.truncate(NEIGHBOURS);
    }
    near.sort_unstable_by(nearer);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (distance, i) in near {
        let w = 1.0 / distance.max(1e-6);
        sum += w * ground[i][2];
        weights += w;
    }
    sum / weights
}

struct Plot {
    path: PathBuf,
    /// The plot that it counts as: itself, or the first that it overlaps.
    place: String,
    /// x and y of its points without noise, or the error.
    points: Result<Vec<[f64; 2]>>,
    bounds: [f64; 4],
}

/// The plots of a folder.
fn plots(folder: &Path) -> Result<Vec<Plot>> {
    let mut paths: Vec<PathBuf> = walk::entries(folder)?;
    paths.retain(|p| walk::has_ending(p, &["las", "laz"]));
    ensure!(!paths.is_empty(), "{}: no .las file", folder.display());
    paths.sort_by_key(|p| natural(&walk::name(p)));
    let read = |path: PathBuf| {
        let points = formats::read(&path).map(|c| {
            let noise = |i: usize| c.class.get(i).is_some_and(|k| NOISE.contains(k));
            let place = |i: usize| [0, 1].map(|a| c.origin[a] + f64::from(c.xyz[i][a]));
            (0..c.len()).filter(|&i| !noise(i)).map(place).collect::<Vec<_>>()
        });
        let all = points.as_deref().unwrap_or_default().iter();
        Plot {
            bounds: all.fold(NOWHERE, extended),
            place: walk::stem(&path),
            path,
            points,
        }
    };
    let mut plots: Vec<Plot> = paths.into_par_iter().map(read).collect();
    for i in 0..plots.len() {
        let first = (0..i).find(|&j| shared(plots[i].bounds, plots[j].bounds) > SHARED);
        if let Some(j) = first {
            plots[i].place = plots[j].place.clone();
        }
    }
    Ok(plots)
}

/// Area that two boxes share, m².
fn shared(a: [f64; 4], b: [f64; 4]) -> f64 {
    let side = |k: usize| (a[k + 2].min(b[k + 2]) - a[k].max(b[k])).max(0.0);
    side(0) * side(1)
}

/// The plot and the outline of a tree with the most points (the first of equals) among the plots that cover most of the
/// tree.
fn best_view<'a>(plots: &[Plot], outlines: &'a [Crown]) -> Option<(usize, &'a Crown)> {
    let (mut most, mut best) = (0, None);
    for (p, plot) in plots.iter().enumerate() {
        let all: f64 = outlines.iter().map(|o| shared(o.bounds, o.bounds)).sum();
        let covered: f64 = outlines.iter().map(|o| shared(o.bounds, plot.bounds)).sum();
        if covered < COVERED * all {
            continue;
        }
        for outline in outlines {
            let points = plot.points.as_deref().unwrap_or_default();
            let inside = points.iter().filter(|&&[x, y]| outline.contains(x, y)).count();
            if inside > most {
                (most, best) = (inside, Some((p, outline)));
            }
        }
    }
    best
}

/// Outlines of each tree. A crown that a road or a neighbour divides has several.
fn crowns_of(folder: &Path) -> Result<BTreeMap<String, Vec<Crown>>> {
    let mut out: BTreeMap<String, Vec<Crown>> = BTreeMap::new();
    for path in walk::entries(folder)? {
        if walk::has_ending(&path, &["shp"]) {
            for (id, crown) in crowns::read(&path)? {
                out.entry(id).or_default().push(crown);
            }
        }
    }
    ensure!(!out.is_empty(), "{}: no crown in any .shp", folder.display());
    Ok(out)
}

/// Species code of each tree. The table has a row for each year that a tree was measured.
fn field(path: &Path) -> Result<BTreeMap<String, String>> {
    let table = CsvFile::open(path)?;
    let (id, taxon) = (table.need(&["indvdID"], "")?, table.need(&["taxonID"], "")?);
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    table.rows(|place, _, row| {
        let [id, taxon] = [id, taxon].map(|column| row.get(column).unwrap_or_default());
        ensure!(
            !id.is_empty() && !taxon.is_empty(),
            "{place}: indvdID '{id}' or taxonID '{taxon}' is empty"
        );
        match out.insert(id.to_owned(), taxon.to_owned()) {
            Some(other) if other != taxon => bail!("{place}: tree {id} has two labels, {other} and {taxon}"),
            _ => Ok(()),
        }
    })?;
    Ok(out)
}
