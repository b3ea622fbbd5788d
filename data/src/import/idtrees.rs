//! IDTReeS 2020 (Zenodo 3934932): airborne plots, crown outlines, species from the field.
//!
//! A crown is clipped from the plot that covers most of it. Noise is left out, and so are points close to the ground,
//! which are ground and shrubs. Heights become heights above the ground.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use super::{
    Options,
    crowns::{self, Crown},
    ground::Ground,
    plan::{CrownJob, Damaged, Job, Plan, PlotJob, natural},
    walk,
};
use crate::{Cloud, Scan, TreeRecord, formats};

/// ASPRS classes of noise.
const NOISE: [u8; 2] = [7, 18];
const GROUND: u8 = 2;
/// Plots that share more than this area, m², are one plot: their trees are neighbours.
const SHARED: f64 = 20.0;
/// A plot must cover this share of a tree's outlines, because a part at the plot's edge is not a tree.
const COVERED: f64 = 0.5;

/// The folder with `RemoteSensing/LAS`, `ITC` and `Field`: `root`, or one below (the zip has `train/`).
pub fn home(root: &Path) -> Option<PathBuf> {
    let is_home = |p: &Path| p.join("RemoteSensing/LAS").is_dir() && p.join("ITC").is_dir();
    if is_home(root) {
        return Some(root.to_owned());
    }
    let mut below = walk::folders(root).ok()?;
    below.extend(
        below
            .clone()
            .iter()
            .flat_map(|f| walk::folders(f).unwrap_or_default()),
    );
    below.into_iter().find(|p| is_home(p))
}

pub fn plan(root: &Path, _: &Options) -> Result<Plan> {
    let home = home(root).context("RemoteSensing/LAS and ITC are not here, nor one or two folders below")?;
    let field = field(&home.join("Field/train_data.csv"))?;
    let plots = plots(&home.join("RemoteSensing/LAS"))?;
    let crowns = crowns_of(&home.join("ITC"))?;
    let unlabelled = crowns.iter().filter(|(id, _)| !field.contains_key(*id)).count();
    let species: Vec<String> = field
        .values()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .cloned()
        .collect();

    let (seen, damaged) = best_views(&plots, &crowns);
    let mut outside = 0;
    let mut jobs: BTreeMap<usize, Vec<CrownJob>> = BTreeMap::new();
    for (id, outlines) in &crowns {
        let Some(label) = field.get(id) else { continue };
        let Some(&(plot, outline)) = seen.get(id) else {
            outside += 1;
            continue;
        };
        jobs.entry(plot).or_default().push(CrownJob {
            crown: outlines[outline].clone(),
            record: TreeRecord {
                tree: id.clone(),
                species: species.binary_search(label).unwrap_or(0),
                plot: plots[plot].place.clone(),
                scan: Scan::Als,
                source: format!("{}#{id}", walk::below(&home, &plots[plot].path)),
                inventory: None,
            },
        });
    }
    let mut notes = vec![
        format!("{unlabelled} crowns have no species in Field/train_data.csv, left out"),
        format!("{outside} crowns lie outside the plots by more than half, left out"),
    ];
    notes.extend(plots.iter().filter(|p| p.name != p.place).map(|p| {
        format!(
            "plot {} covers the ground of {}: the two count as one plot",
            p.name, p.place
        )
    }));
    let jobs = jobs
        .into_iter()
        .map(|(plot, crowns)| {
            Job::Plot(PlotJob {
                path: plots[plot].path.clone(),
                crowns,
            })
        })
        .collect();
    let mut plan = Plan {
        name: "idtrees".into(),
        species,
        notes,
        missing: damaged,
        jobs,
    };
    plan.drop_absent_species();
    Ok(plan)
}

/// Clips the crowns of `plot`. A cloud's origin is the middle of the crown on the ground; z is the height above ground,
/// metres.
///
/// # Errors
/// Returns an error if the plot cannot be read or has no ground points.
pub fn read(plot: &PlotJob, min_height: f32) -> Result<Vec<(TreeRecord, Cloud)>> {
    let file = || plot.path.display().to_string();
    let cloud = formats::read(&plot.path)?;
    ensure!(
        !cloud.class.is_empty(),
        "{}: its points have no classes, which are needed to separate ground and trees",
        file()
    );
    let world =
        |i: usize| -> [f64; 3] { std::array::from_fn(|a| cloud.origin[a] + f64::from(cloud.xyz[i][a])) };
    let ground = (0..cloud.len())
        .filter(|&i| cloud.class[i] == GROUND)
        .map(world)
        .collect();
    let ground = Ground::new(ground).with_context(file)?;
    let clip = |job: &CrownJob| {
        let [west, south, east, north] = job.crown.bounds;
        let origin = [(west + east) / 2.0, (south + north) / 2.0, 0.0];
        let (mut kept, mut xyz) = (Vec::new(), Vec::new());
        for i in 0..cloud.len() {
            let [x, y, z] = world(i);
            if NOISE.contains(&cloud.class[i]) || !job.crown.contains(x, y) {
                continue;
            }
            let height = (z - ground.height(x, y)) as f32;
            if height > min_height {
                kept.push(i);
                xyz.push([(x - origin[0]) as f32, (y - origin[1]) as f32, height]);
            }
        }
        let mut tree = cloud.select(&kept);
        (tree.origin, tree.xyz) = (origin, xyz);
        (job.record.clone(), tree)
    };
    Ok(plot.crowns.par_iter().map(clip).collect())
}

struct PlotFile {
    path: PathBuf,
    name: String,
    /// The plot that it counts as: itself, or the first that it overlaps.
    place: String,
    /// Its points without noise, or the error.
    points: Result<Vec<[f64; 2]>>,
    bounds: [f64; 4],
}

/// The plots of a folder with x and y of their points.
fn plots(folder: &Path) -> Result<Vec<PlotFile>> {
    let mut paths: Vec<PathBuf> = walk::entries(folder)?;
    paths.retain(|p| walk::has_ending(p, &["las", "laz"]));
    ensure!(!paths.is_empty(), "{}: no .las file", folder.display());
    paths.sort_by_key(|p| natural(&walk::name(p)));
    let mut plots: Vec<PlotFile> = paths.into_par_iter().map(plot_file).collect();
    for i in 0..plots.len() {
        let first = (0..i).find(|&j| shared(plots[i].bounds, plots[j].bounds) > SHARED);
        if let Some(j) = first {
            plots[i].place = plots[j].place.clone();
        }
    }
    Ok(plots)
}

fn plot_file(path: PathBuf) -> PlotFile {
    let name = walk::stem(&path);
    let points = formats::read(&path).map(|c| {
        let noise = |i: usize| c.class.get(i).is_some_and(|k| NOISE.contains(k));
        let place = |i: usize| [0, 1].map(|a| c.origin[a] + f64::from(c.xyz[i][a]));
        (0..c.len()).filter(|&i| !noise(i)).map(place).collect::<Vec<_>>()
    });
    let none = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let bounds = points
        .as_deref()
        .unwrap_or_default()
        .iter()
        .fold(none, |b, &[x, y]| {
            [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)]
        });
    PlotFile {
        path,
        place: name.clone(),
        name,
        points,
        bounds,
    }
}

/// Area that two boxes share, m².
fn shared(a: [f64; 4], b: [f64; 4]) -> f64 {
    let side = |k: usize| (a[k + 2].min(b[k + 2]) - a[k].max(b[k])).max(0.0);
    side(0) * side(1)
}

/// For each tree the plot and the outline with the most points (the first of equals) among the plots that cover most of
/// the tree; and the plots that could not be read.
fn best_views(
    plots: &[PlotFile],
    crowns: &BTreeMap<String, Vec<Crown>>,
) -> (HashMap<String, (usize, usize)>, Vec<Damaged>) {
    let damaged = plots.iter().filter_map(|p| {
        let why = format!("{:#}", p.points.as_ref().err()?);
        let path = p.path.clone();
        Some(Damaged { path, why })
    });
    let best = crowns.par_iter().filter_map(|(id, outlines)| {
        let mut best = (0, 0, 0);
        for (p, plot) in plots.iter().enumerate() {
            let all: f64 = outlines.iter().map(|o| shared(o.bounds, o.bounds)).sum();
            let covered: f64 = outlines.iter().map(|o| shared(o.bounds, plot.bounds)).sum();
            if covered < COVERED * all {
                continue;
            }
            for (o, outline) in outlines.iter().enumerate() {
                let points = plot.points.as_deref().unwrap_or_default();
                let inside = points.iter().filter(|&&[x, y]| outline.contains(x, y)).count();
                if inside > best.0 {
                    best = (inside, p, o);
                }
            }
        }
        (best.0 > 0).then(|| (id.clone(), (best.1, best.2)))
    });
    (best.collect(), damaged.collect())
}

/// Outlines of each tree. A crown that a road or a neighbour divides has several.
fn crowns_of(folder: &Path) -> Result<BTreeMap<String, Vec<Crown>>> {
    let mut out: BTreeMap<String, Vec<Crown>> = BTreeMap::new();
    for path in walk::entries(folder)? {
        if walk::has_ending(&path, &["shp"]) {
            for crown in crowns::read(&path)? {
                out.entry(crown.id.clone()).or_default().push(crown);
            }
        }
    }
    ensure!(!out.is_empty(), "{}: no crown in any .shp", folder.display());
    Ok(out)
}

/// Species code of each tree. The table has a row for each year that a tree was measured.
fn field(path: &Path) -> Result<HashMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(path)
        .with_context(|| path.display().to_string())?;
    let header = reader
        .headers()
        .with_context(|| path.display().to_string())?
        .clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|h| h == name)
            .with_context(|| format!("{}: no column {name}", path.display()))
    };
    let (id, taxon) = (column("indvdID")?, column("taxonID")?);
    let mut out: HashMap<String, String> = HashMap::new();
    for row in reader.records() {
        let row = row.with_context(|| path.display().to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        let (id, taxon) = (
            row.get(id).unwrap_or_default(),
            row.get(taxon).unwrap_or_default(),
        );
        ensure!(
            !id.is_empty() && !taxon.is_empty(),
            "{} line {line}: indvdID '{id}' or taxonID '{taxon}' is empty",
            path.display()
        );
        match out.insert(id.to_owned(), taxon.to_owned()) {
            Some(other) if other != taxon => bail!(
                "{} line {line}: tree {id} has two labels, {other} and {taxon}",
                path.display()
            ),
            _ => {}
        }
    }
    Ok(out)
}
