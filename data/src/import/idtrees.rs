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
use shapefile::{
    Polygon,
    dbase::{FieldValue, Record},
};

use super::{
    Options,
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

/// West, south, east and north, metres.
type Bounds = [f64; 4];

/// The folder with `RemoteSensing/LAS`, `ITC` and `Field`: `root`, or one or two below (the zip has `train/`).
pub fn home(root: &Path) -> Option<PathBuf> {
    let mut folders = vec![root.to_owned()];
    for _ in 0..3 {
        let is_home = |p: &&PathBuf| p.join("RemoteSensing/LAS").is_dir() && p.join("ITC").is_dir();
        if let Some(home) = folders.iter().find(is_home) {
            return Some(home.clone());
        }
        let below = folders.iter().flat_map(|f| walk::folders(f).unwrap_or_default());
        folders = below.collect();
    }
    None
}

pub fn plan(root: &Path, _: &Options) -> Result<Plan> {
    let home = home(root).context("RemoteSensing/LAS and ITC are not here, nor one or two folders below")?;
    let field = field(&home.join("Field/train_data.csv"))?;
    let (plots, damaged) = plots(&home.join("RemoteSensing/LAS"))?;
    let crowns = crowns(&home.join("ITC"))?;
    let job = |p: &Plot| Job {
        path: p.path.clone(),
        trees: Vec::new(),
    };
    let mut jobs: Vec<Job> = plots.iter().map(job).collect();
    let (mut unlabelled, mut outside) = (0, 0);
    for (id, outlines) in crowns {
        let Some(label) = field.get(&id) else {
            unlabelled += 1;
            continue;
        };
        let Some(plot) = best_plot(&plots, &outlines) else {
            outside += 1;
            continue;
        };
        let record = TreeRecord {
            plot: plots[plot].place.clone(),
            scan: Scan::Als,
            source: format!("{}#{id}", walk::below(&home, &plots[plot].path)),
            tree: id,
            ..TreeRecord::default()
        };
        jobs[plot].trees.push(Tree {
            label: label.clone(),
            record,
            outlines,
        });
    }
    let mut plan = Plan::new("idtrees".into(), jobs);
    plan.notes = vec![
        format!("{unlabelled} crowns have no species in Field/train_data.csv, left out"),
        format!("{outside} crowns lie outside the plots by more than half, left out"),
    ];
    for plot in plots {
        let (name, place) = (walk::stem(&plot.path), &plot.place);
        if name != *place {
            let note = format!("plot {name} covers the ground of {place}: the two count as one plot");
            plan.notes.push(note);
        }
    }
    plan.missing = damaged;
    Ok(plan)
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
    let noise = |i: usize| cloud.class.get(i).is_some_and(|class| NOISE.contains(class));
    let clip = |tree: &Tree| {
        // The outline with the most points, the first of equals.
        let inside = |outline: &&Bounds| {
            let at = (0..cloud.len()).filter(|&i| !noise(i)).map(world);
            at.filter(|&[x, y, _]| contains(**outline, [x, y])).count()
        };
        let crown = tree.outlines.iter().rev().max_by_key(inside);
        let crown = *crown.context("a plot has trees without crowns")?;
        let [west, south, east, north] = crown;
        let origin = [(west + east) / 2.0, (south + north) / 2.0, 0.0];
        let (mut kept, mut xyz) = (Vec::new(), Vec::new());
        for i in 0..cloud.len() {
            let [x, y, z] = world(i);
            if noise(i) || !contains(crown, [x, y]) {
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
    /// As its header says.
    bounds: Bounds,
}

/// The plots of a folder, and those whose header could not be read.
fn plots(folder: &Path) -> Result<(Vec<Plot>, Vec<Damaged>)> {
    let mut paths: Vec<PathBuf> = walk::entries(folder)?;
    paths.retain(|p| walk::has_ending(p, &["las", "laz"]));
    ensure!(!paths.is_empty(), "{}: no .las file", folder.display());
    paths.sort_by_key(|p| natural(&walk::name(p)));
    let (mut plots, mut damaged) = (Vec::<Plot>::new(), Vec::new());
    for path in paths {
        let info = match formats::info(&path, false) {
            Ok(info) => info,
            Err(e) => {
                let why = format!("{e:#}");
                damaged.push(Damaged { path, why });
                continue;
            }
        };
        let [low, high] = info.bounds.unwrap_or_default();
        let bounds = [low[0], low[1], high[0], high[1]];
        let first = plots.iter().find(|plot| shared(bounds, plot.bounds) > SHARED);
        plots.push(Plot {
            place: first.map_or_else(|| walk::stem(&path), |plot| plot.place.clone()),
            path,
            bounds,
        });
    }
    Ok((plots, damaged))
}

fn bounds(points: &[[f64; 2]]) -> Bounds {
    let nowhere = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let extended = |b: Bounds, &[x, y]: &[f64; 2]| [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)];
    points.iter().fold(nowhere, extended)
}

fn contains([west, south, east, north]: Bounds, [x, y]: [f64; 2]) -> bool {
    x >= west && x <= east && y >= south && y <= north
}

/// Area that two boxes share, m².
fn shared(a: Bounds, b: Bounds) -> f64 {
    let side = |k: usize| (a[k + 2].min(b[k + 2]) - a[k].max(b[k])).max(0.0);
    side(0) * side(1)
}

/// The plot that covers most of a tree's outlines (the first of equals), if that is enough.
fn best_plot(plots: &[Plot], outlines: &[Bounds]) -> Option<usize> {
    let all: f64 = outlines.iter().map(|&o| shared(o, o)).sum();
    let covered = |&p: &usize| -> f64 { outlines.iter().map(|&o| shared(o, plots[p].bounds)).sum() };
    let best = (0..plots.len())
        .rev()
        .max_by(|a, b| covered(a).total_cmp(&covered(b)));
    best.filter(|p| covered(p) >= COVERED * all)
}

/// Outlines of each tree in the shapefiles of `folder`, upright boxes. A crown that a road or a neighbour divides has several.
fn crowns(folder: &Path) -> Result<BTreeMap<String, Vec<Bounds>>> {
    /// The column that names the tree.
    const ID: &str = "indvdID";
    let mut out: BTreeMap<String, Vec<Bounds>> = BTreeMap::new();
    for path in walk::entries(folder)? {
        if !walk::has_ending(&path, &["shp"]) {
            continue;
        }
        let file = path.display();
        let shapes = shapefile::read_as::<_, Polygon, Record>(&path)
            .with_context(|| format!("{file}: not a shapefile of polygons, damaged, or without its .dbf"))?;
        for (i, (shape, record)) in shapes.into_iter().enumerate() {
            let id = match record.get(ID) {
                Some(FieldValue::Character(Some(id))) => id.trim().to_owned(),
                Some(FieldValue::Character(None)) => continue,
                _ => bail!("{file}: shape {i} has no text column {ID}"),
            };
            let corners: Vec<[f64; 2]> = shape
                .rings()
                .iter()
                .flat_map(|ring| ring.points())
                .map(|q| [q.x, q.y])
                .collect();
            let outline = upright_box(&corners).with_context(|| {
                format!("{file}: shape {i}: crown {id}: expected an upright box, found {corners:?}")
            })?;
            out.entry(id).or_default().push(outline);
        }
    }
    ensure!(!out.is_empty(), "{}: no crown in any .shp", folder.display());
    Ok(out)
}

/// The box with these corners; `None` if it has no area, or another shape. Drawn ones are turned by a hair.
fn upright_box(corners: &[[f64; 2]]) -> Option<Bounds> {
    let b = bounds(corners);
    let near = |k: usize, v: f64| {
        let side = b[k + 2] - b[k];
        side > 0.0 && side.is_finite() && (v - b[k]).min(b[k + 2] - v) < 0.005 * side
    };
    let all = corners.iter().all(|&[x, y]| near(0, x) && near(1, y));
    let far = |&[x, y]: &[f64; 2]| (x - b[0] > b[2] - x, y - b[1] > b[3] - y);
    let different: BTreeSet<_> = corners.iter().map(far).collect();
    (all && different.len() == 4).then_some(b)
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
