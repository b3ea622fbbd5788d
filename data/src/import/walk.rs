//! Finds point files in folders.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

/// Extensions of point files.
pub const POINT_FILES: [&str; 7] = ["las", "laz", "xyz", "pts", "txt", "csv", "asc"];
/// Deeper than any data set; ends a cycle of links.
const DEEPEST: usize = 16;

/// Entries of `folder` in the order of their names, without hidden files.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("{}: cannot list this folder", folder.display());
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if !name(&path).starts_with('.') && name(&path) != "__MACOSX" {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

/// Sub-folders of `folder`.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|p| p.is_dir()).collect())
}

/// Point files in `folder` and below, and the number of other files.
pub fn point_files(folder: &Path) -> Result<(Vec<PathBuf>, usize)> {
    let (mut found, mut others) = (Vec::new(), 0);
    walk(folder, 0, &mut found, &mut others)?;
    Ok((found, others))
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, others: &mut usize) -> Result<()> {
    ensure!(
        depth < DEEPEST,
        "{}: folders are nested more than {DEEPEST} deep (a cycle of links?)",
        folder.display()
    );
    for path in entries(folder)? {
        if path.is_dir() {
            walk(&path, depth + 1, found, others)?;
        } else if has_ending(&path, &POINT_FILES) {
            found.push(path);
        } else {
            *others += 1;
        }
    }
    Ok(())
}

/// Whether the file's extension is one of `endings`, in any case.
pub fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .is_some_and(|e| endings.iter().any(|x| e.eq_ignore_ascii_case(x)))
}

/// The last part of a path; characters that are not Unicode are replaced.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The file's name without its extension (`.copc.laz` is one extension).
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_suffix(".copc").unwrap_or(&stem).to_owned()
}

/// `path` relative to `root`, with `/` on every system.
pub fn below(root: &Path, path: &Path) -> String {
    let rest = path.strip_prefix(root).unwrap_or(path);
    let parts = rest.iter().map(|part| part.to_string_lossy());
    Vec::from_iter(parts).join("/")
}
