//! Which layout a path has.

use std::{fs::File, io::Read, path::Path};

use anyhow::{Context, Result, bail};

use super::{Kind, csv_file::refuse_utf16, for_species, idtrees, stpctls, table, walk};

/// Recognises the layout of `path`.
///
/// # Errors
/// Lists what the path has, and what each layout needs.
pub fn detect(path: &Path) -> Result<Kind> {
    if path.is_file() {
        if table::is_table(path) {
            return Ok(Kind::Csv);
        }
        let mut head = [0; 2];
        if walk::has_ending(path, &["csv", "txt"])
            && File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok()
        {
            refuse_utf16(path, &head)?;
        }
        bail!(
            "{}: is one file and not a table of labelled files; expected {}",
            path.display(),
            expected()
        );
    }
    let folders = walk::folders(path).with_context(|| format!("{}: no data set", path.display()))?;
    if idtrees::home(path).is_some() {
        return Ok(Kind::Idtrees);
    }
    if for_species::table(path).is_some() {
        return Ok(Kind::ForSpecies20k);
    }
    if folders.len() >= 2 && folders.iter().all(|f| stpctls::english(&walk::name(f)).is_some()) {
        return Ok(Kind::Stpctls);
    }
    if table::is_table(&path.join("labels.csv")) {
        return Ok(Kind::Csv);
    }
    for folder in &folders {
        if !walk::point_files(folder)?.0.is_empty() {
            return Ok(Kind::Folder);
        }
    }
    let files = walk::entries(path)?.len() - folders.len();
    bail!(
        "{}: no data set recognised ({} sub-folders, {files} files); expected {}",
        path.display(),
        folders.len(),
        expected()
    )
}

fn expected() -> String {
    let kinds = Kind::ALL.map(|k| format!("\n  {k}: {}", k.expects()));
    format!(
        "one of{}\n  or a folder that `canopy data import` wrote",
        kinds.concat()
    )
}
