//! The folder for temporary files: free space, and the speed of one large file.

use std::{
    fs::File,
    io::{Read, Seek, Write},
    path::Path,
    time::Instant,
};

use anyhow::{Context, Result};

use super::Line;

/// Size of the file, MiB. The write is forced to the disk; the read may come from the system's memory.
const MIB: usize = 64;

pub fn lines(folder: Option<&Path>) -> Vec<Line> {
    let temporary = std::env::temp_dir();
    let folder = folder.unwrap_or(&temporary);
    let shown = folder.display();
    vec![match measure(folder) {
        Ok((write, read)) => {
            let free = free_gib(folder);
            let found = format!(
                "{shown}: {}writes {write:.0} MB/s, reads {read:.0} MB/s (a file of {MIB} MiB)",
                free.map_or(String::new(), |f| format!("{f:.1} GiB free, "))
            );
            match free {
                Some(f) if f < 1.0 => Line::warning(
                    "scratch",
                    found,
                    "name a folder with more space in TMPDIR: data sets and checkpoints take gigabytes",
                ),
                _ if write < 50.0 => Line::warning(
                    "scratch",
                    found,
                    "slow, as a network's file system may be: name a folder on the node's own disk in TMPDIR",
                ),
                _ => Line::ok("scratch", found),
            }
        }
        Err(e) => Line::wrong(
            "scratch",
            format!("{shown}: {e:#}"),
            "name a folder that you may write to in TMPDIR, or with --scratch",
        ),
    }]
}

/// MB/s of writing to the disk, and of reading again.
fn measure(folder: &Path) -> Result<(f64, f64)> {
    let block: Vec<u8> = (0..1u32 << 20)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut file: File = tempfile::tempfile_in(folder).context("no file can be created there")?;
    let rate = |started: Instant| (MIB << 20) as f64 / 1e6 / started.elapsed().as_secs_f64().max(1e-9);
    let started = Instant::now();
    for _ in 0..MIB {
        file.write_all(&block).context("a file cannot be written there")?;
    }
    file.sync_all().context("a file cannot be written there")?;
    let write = rate(started);
    file.rewind()?;
    let started = Instant::now();
    let mut back = vec![0; block.len()];
    for _ in 0..MIB {
        file.read_exact(&mut back)?;
        anyhow::ensure!(
            back == block,
            "a file does not read as it was written: the disk is faulty"
        );
    }
    Ok((write, rate(started)))
}

/// Free space in GiB, if the system says.
fn free_gib(folder: &Path) -> Option<f64> {
    canopy_data::fetch::free_space(folder)
        .ok()
        .map(|b| b as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::State;

    #[test]
    fn a_folder_that_is_not_there_is_wrong_and_named() {
        let line = lines(Some(Path::new("/no/such/folder"))).remove(0);
        assert_eq!(line.state, State::Wrong);
        assert!(line.found.contains("/no/such/folder"), "{line:?}");
    }
}
