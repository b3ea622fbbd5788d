//! Data sets as they are downloaded, read into labelled trees.
//!
//! An importer first creates a [`Plan`]: the files with their labels and plots. It reads no cloud yet, so that a wrong
//! folder or label is reported at once. [`run()`] then reads the clouds in parallel, a few at a time, and passes them on
//! in the plan's order.

mod csv_file;
mod folder;
mod idtrees;
mod plan;
mod run;
mod table;
mod walk;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

pub use plan::{Damaged, Plan};
pub use run::{Progress, Report, run, to_shards};
pub use table::is_table;

/// A layout of data sets.
#[derive(Debug)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// What the path must have.
    pub expects: &'static str,
    /// Licence of the data; empty if unknown.
    pub licence: &'static str,
    /// Where the data come from.
    pub source: &'static str,
    /// Whether a path has it.
    recognises: fn(&Path) -> bool,
    /// Lists the trees.
    plan: fn(&Path, &Options) -> Result<Plan>,
}

/// The known layouts, in the order in which they are tried.
pub static KINDS: [Kind; 5] = [
    Kind {
        name: "idtrees",
        expects: "RemoteSensing/LAS/*.las, ITC/*.shp and Field/train_data.csv",
        licence: "CC-BY-4.0",
        source: "IDTReeS 2020, Zenodo 3934932",
        recognises: |path| idtrees::home(path).is_some(),
        plan: idtrees::plan,
    },
    Kind {
        name: "for-species20k",
        expects: "tree_metadata_dev.csv beside a folder of the .las or .laz files that it names",
        licence: "GPL-3",
        source: "FOR-species20K, Puliti et al. 2025, Zenodo 13255198",
        recognises: |path| table::metadata(path).is_some(),
        plan: table::for_species,
    },
    Kind {
        name: "stpctls",
        expects: "folders Buche, Douglasie, Eiche, Esche, Fichte, Kiefer, Roteiche of .xyz, .pts and .txt",
        licence: "",
        source: "STPCTLS, Seidel et al. 2021, doi 10.25625/FOHUJM",
        recognises: folder::is_stpctls,
        plan: folder::stpctls,
    },
    Kind {
        name: "csv",
        expects: "a CSV with a column for the file and one for its label",
        licence: "",
        source: "",
        recognises: |path| is_table(path) || is_table(&path.join(table::LABELS)),
        plan: table::plan,
    },
    Kind {
        name: "folder",
        expects: "a folder with one sub-folder per species, with point files (or one sub-folder per plot) in each",
        licence: "",
        source: "",
        recognises: folder::has_point_files,
        plan: folder::plan,
    },
];

/// The layout called `name`.
///
/// # Errors
/// Lists the known ones.
pub fn kind(name: &str) -> Result<&'static Kind> {
    KINDS.iter().find(|k| k.name == name).with_context(|| {
        let names = KINDS.each_ref().map(|k| k.name).join(", ");
        format!("no layout is called '{name}': the known ones are {names}")
    })
}

/// What to import, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only these labels; empty: all.
    pub species: Vec<String>,
    /// Leaves out clouds with fewer points.
    pub min_points: usize,
    /// Thins clouds with more points at random; the seed is the tree's name. `None` keeps every point.
    pub max_points: Option<usize>,
    /// Skips files that cannot be read, and counts them.
    pub skip_damaged: bool,
    /// IDTReeS: keeps points higher than this above the ground, metres.
    pub min_height: f32,
    /// CSV: the columns' names.
    pub columns: Columns,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            species: Vec::new(),
            min_points: 1,
            max_points: None,
            skip_damaged: false,
            min_height: 2.0,
            columns: Columns::default(),
        }
    }
}

/// Names of a table's columns; `None`: the usual names are tried.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The point file, relative to the CSV.
    pub file: Option<String>,
    /// The species.
    pub label: Option<String>,
    /// The plot.
    pub plot: Option<String>,
    /// The tree, if a tree has several scans.
    pub tree: Option<String>,
}

/// Returns every file below `folder` with the extension of a point file, sorted.
///
/// # Errors
/// Returns an error if a folder cannot be listed.
pub fn point_files(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(walk::point_files(folder)?.0)
}

/// Recognises the layout of `path`.
///
/// # Errors
/// Lists what the path has, and what each layout needs.
pub fn detect(path: &Path) -> Result<&'static Kind> {
    let at = path.display();
    if let Some(kind) = KINDS.iter().find(|kind| (kind.recognises)(path)) {
        return Ok(kind);
    }
    let kinds = KINDS
        .each_ref()
        .map(|k| format!("\n  {}: {}", k.name, k.expects))
        .concat();
    let expected = format!("expected one of{kinds}\n  or a folder that `canopy data import` wrote");
    if path.is_file() {
        if walk::has_ending(path, &["csv", "txt"]) {
            csv_file::CsvFile::head(path)?;
        }
        bail!("{at}: is one file and not a table of labelled files; {expected}");
    }
    let entries = walk::entries(path).with_context(|| format!("{at}: no data set"))?;
    let folders = entries.iter().filter(|p| p.is_dir()).count();
    let files = entries.len() - folders;
    bail!("{at}: no data set recognised ({folders} sub-folders, {files} files); {expected}")
}

/// Lists the trees of `path`, a data set of `kind`, without reading clouds.
///
/// # Errors
/// Names what is missing, a label that is unknown, or a file that has two labels.
pub fn plan(kind: &Kind, path: &Path, options: &Options) -> Result<Plan> {
    let (at, name, expects) = (path.display(), kind.name, kind.expects);
    ensure!(
        path.exists(),
        "{at}: no such file or folder; expected {name}: {expects}"
    );
    let mut plan = (kind.plan)(path, options).with_context(|| format!("{at} as {name}"))?;
    if !options.species.is_empty() {
        plan.keep_species(&options.species)?;
    }
    ensure!(
        plan.trees() > 0,
        "{at} as {name}: no labelled tree found; expected {expects}"
    );
    Ok(plan)
}
