//! `canopy data view`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use canopy_data::{Cloud, Dataset, atomic, formats, import};

use super::{open, progress::Progress};
use crate::report::{ViewCloud, view_page};

/// Clouds of a data set that a page shows, the same number of each species.
const OF_A_SET: usize = 24;

/// Options of `canopy data view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is self-contained: it opens in any browser without a network.

Examples:
  canopy data view tree.laz
  canopy data view builtin --color species --out forest.html
  canopy data view scans/*.las --color intensity --points 200000")]
pub struct Args {
    /// Point files, or data sets (a few trees of each species are shown)
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The page to write
    #[arg(long, default_value = "view.html", value_name = "HTML")]
    out: PathBuf,
    /// Attribute that the colours show
    #[arg(long, default_value = "height", value_parser = ["height", "intensity", "species"])]
    color: String,
    /// Most points per cloud
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    points: usize,
}

/// A title, the species if it is known, and the cloud.
type Shown = (String, Option<String>, Cloud);

/// Writes the page.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.points > 0, "--points 0: expected at least 1");
    let mut shown = Vec::new();
    for path in &args.paths {
        if !path.is_file() || import::detect(path).is_ok() {
            of_set(&open::any(path)?, args.points, &mut shown)?;
            continue;
        }
        let cloud = formats::read(path)?.thinned(args.points, 0);
        ensure!(!cloud.is_empty(), "{}: has no points", path.display());
        let name = path.file_name().unwrap_or_default();
        shown.push((name.to_string_lossy().into_owned(), None, cloud));
    }
    let clouds = shown.iter().map(|(title, species, cloud)| ViewCloud {
        title: title.clone(),
        species: species.clone(),
        points: &cloud.xyz,
        intensity: &cloud.intensity,
    });
    let clouds: Vec<ViewCloud> = clouds.collect();
    let page = view_page(&clouds, &args.color)?;
    atomic::write(&args.out, page.as_bytes())?;
    say!(
        "{}: {} clouds; open it in a browser",
        args.out.display(),
        clouds.len()
    );
    Ok(())
}

/// The first few trees of each species.
fn of_set(data: &Dataset, points: usize, shown: &mut Vec<Shown>) -> Result<()> {
    let each = (OF_A_SET / data.species.len().max(1)).max(1);
    let mut taken = vec![0; data.species.len()];
    let progress = Progress::new("reading trees");
    for (i, record) in data.records.iter().enumerate() {
        if taken[record.species] == each {
            continue;
        }
        taken[record.species] += 1;
        progress.at(shown.len(), 0)?;
        let species = &data.species[record.species];
        let title = format!("{species}, {}", record.tree);
        let cloud = data.cloud(i)?.thinned(points, 0);
        shown.push((title, Some(species.clone()), cloud));
    }
    Ok(())
}
