//! Writes a labelled set as point files, which other programs can read.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use canopy_data::{Dataset, atomic, formats};
use indicatif::HumanCount;
use rayon::prelude::*;

use super::progress::Progress;

/// Writes `SPECIES/PLOT/TREE.ending` for each record, and `labels.csv`, into the folder `out`, which gets its name when
/// all is written, and prints what it wrote.
pub fn files(data: &Dataset, out: &Path, ending: &str, options: &formats::Options) -> Result<()> {
    ensure!(
        !out.exists() || fs::read_dir(out).is_ok_and(|mut d| d.next().is_none()),
        "{} exists already and is not an empty folder; choose another",
        out.display()
    );
    let names = names(data, ending);
    let progress = Progress::new("writing");
    let points: u64 = atomic::folder(out, |temp| {
        let write = |i: usize| -> Result<u64> {
            progress.one(data.len())?;
            let path = temp.join(&names[i]);
            let folder = atomic::parent(&path);
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let cloud = data.cloud(i)?;
            formats::write(&path, &cloud, options)?;
            Ok(cloud.len() as u64)
        };
        let written: Result<Vec<u64>> = (0..data.len()).into_par_iter().map(write).collect();
        let points = written?.iter().sum();
        labels(data, &names, &temp.join("labels.csv"))?;
        Ok(points)
    })?;
    drop(progress);
    say!(
        "{}: {} files, {} points",
        out.display(),
        data.len(),
        HumanCount(points)
    );
    Ok(())
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
    let kept = |c: char| c.is_alphanumeric() || " -_.#".contains(c);
    let out: String = text.chars().map(|c| if kept(c) { c } else { '_' }).collect();
    match out.trim_matches([' ', '.']) {
        "" => "unnamed".into(),
        name => name.to_owned(),
    }
}

fn labels(data: &Dataset, names: &[PathBuf], to: &Path) -> Result<()> {
    let mut table = csv::Writer::from_path(to).with_context(|| to.display().to_string())?;
    table.write_record(["file", "species", "plot", "tree"])?;
    for (r, name) in data.records.iter().zip(names) {
        let parts = name.iter().map(|part| part.to_string_lossy());
        let file = parts.collect::<Vec<_>>().join("/");
        table.write_record([file.as_str(), &data.species[r.species], &r.plot, &r.tree])?;
    }
    table.flush().with_context(|| to.display().to_string())
}
