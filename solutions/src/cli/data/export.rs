//! Writes a labelled set as point files, which other programs can read.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use canopy_data::{Dataset, atomic, formats};
use rayon::prelude::*;

use super::progress::{Progress, Unit};

/// Clouds that are written between two checks for Ctrl-C.
const AT_ONCE: usize = 32;

/// Writes `SPECIES/PLOT/TREE.ending` for each record, and `labels.csv`, into the folder `out`, which gets its name when
/// all is written. Returns the number of points.
pub fn files(data: &Dataset, out: &Path, ending: &str, options: &formats::Options) -> Result<u64> {
    ensure!(
        !out.exists() || fs::read_dir(out).is_ok_and(|mut d| d.next().is_none()),
        "{} exists already and is not an empty folder; choose another",
        out.display()
    );
    let names = names(data, ending);
    let mut progress = Progress::new("writing", Unit::Things);
    let all: Vec<usize> = (0..data.len()).collect();
    atomic::folder(out, |temp| {
        let write = |&i: &usize| -> Result<u64> {
            let path = temp.join(&names[i]);
            let folder = atomic::parent(&path);
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let cloud = data.cloud(i)?;
            formats::write(&path, &cloud, options)?;
            Ok(cloud.len() as u64)
        };
        let mut points = 0;
        for some in all.chunks(AT_ONCE) {
            points += some
                .par_iter()
                .map(write)
                .collect::<Result<Vec<u64>>>()?
                .iter()
                .sum::<u64>();
            progress.at(some.last().map_or(0, |i| *i as u64 + 1), Some(data.len() as u64))?;
        }
        labels(data, &names, &temp.join("labels.csv"))?;
        Ok(points)
    })
}

/// A path for each record; a number is added if two would have the same path.
fn names(data: &Dataset, ending: &str) -> Vec<PathBuf> {
    let mut seen: HashMap<PathBuf, usize> = HashMap::new();
    let names = data.records.iter().map(|r| {
        let folder = Path::new(&piece(&data.species[r.species])).join(piece(&r.plot));
        let tree = piece(&r.tree);
        let count = seen.entry(folder.join(tree.to_lowercase())).or_insert(0);
        *count += 1;
        let number = if *count > 1 {
            format!("_{count}")
        } else {
            String::new()
        };
        folder.join(format!("{tree}{number}.{ending}"))
    });
    names.collect()
}

/// Text as one component of a path on any system.
fn piece(text: &str) -> String {
    let clean = |c: char| {
        if c.is_alphanumeric() || " -_.#".contains(c) {
            c
        } else {
            '_'
        }
    };
    let out: String = text.chars().map(clean).collect();
    let out = out.trim_matches([' ', '.']).to_owned();
    if out.is_empty() { "unnamed".into() } else { out }
}

fn labels(data: &Dataset, names: &[PathBuf], to: &Path) -> Result<()> {
    let mut table = csv::Writer::from_path(to).with_context(|| to.display().to_string())?;
    table.write_record(["file", "species", "plot", "tree"])?;
    for (r, name) in data.records.iter().zip(names) {
        let parts: Vec<_> = name
            .components()
            .map(|c| c.as_os_str().to_string_lossy())
            .collect();
        let file = parts.join("/");
        table.write_record([file.as_str(), &data.species[r.species], &r.plot, &r.tree])?;
    }
    table.flush().with_context(|| to.display().to_string())
}
