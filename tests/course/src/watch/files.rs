//! Reports when a file of the exercises was written, including by editors that write another file and rename it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

/// Calls `saved` with the lesson, such as `01`, until the watcher is dropped. If the system cannot report changes (no
/// watches left, a network file system), the files are polled twice per second.
pub fn watch(root: &Path, saved: impl Fn(String) + Clone + Send + 'static) -> Result<Box<dyn Watcher>> {
    let folder = root.join("exercises");
    // Folders are watched rather than files, because a rename replaces the file.
    let folder = folder.canonicalize().unwrap_or(folder);
    let report = {
        let folder = folder.clone();
        move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            if let Some(lesson) = event.paths.iter().find_map(|path| lesson_of(&folder, path)) {
                saved(lesson);
            }
        }
    };
    let native = RecommendedWatcher::new(report.clone(), Config::default()).and_then(|mut watcher| {
        watcher.watch(&folder, RecursiveMode::Recursive)?;
        Ok(Box::new(watcher) as Box<dyn Watcher>)
    });
    if let Ok(watcher) = native {
        return Ok(watcher);
    }
    let often = Config::default()
        .with_poll_interval(Duration::from_millis(500))
        .with_compare_contents(true);
    let mut watcher = PollWatcher::new(report, often).context("the exercises cannot be watched")?;
    watcher
        .watch(&folder, RecursiveMode::Recursive)
        .context("the exercises cannot be watched")?;
    Ok(Box::new(watcher))
}

/// Returns `01` for `…/exercises/lesson01/src/lib.rs`, and nothing for temporary files of editors.
fn lesson_of(folder: &Path, path: &Path) -> Option<String> {
    let inside: PathBuf = path.strip_prefix(folder).ok()?.to_owned();
    let ending = inside.extension()?;
    let mut parts = inside.iter().map(|p| p.to_string_lossy());
    let lesson = parts.next()?.strip_prefix("lesson")?.to_owned();
    let hidden = parts.any(|p| p.starts_with(['.', '#']) || p == "target");
    (!hidden && (ending == "rs" || ending == "toml")).then_some(lesson)
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc};

    use super::*;

    #[test]
    fn only_sources_count() {
        let folder = Path::new("/x/exercises");
        let of = |p: &str| lesson_of(folder, &folder.join(p));
        assert_eq!(of("lesson01/src/lib.rs").as_deref(), Some("01"));
        assert_eq!(of("lesson12/Cargo.toml").as_deref(), Some("12"));
        for other in [
            "lesson01/src/.lib.rs.swp",
            "lesson01/src/lib.rs~",
            "lesson01/src/4913",
            "lesson01/src/.#lib.rs",
            "README.md",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(lesson_of(folder, Path::new("/x/other/lesson01/lib.rs")), None);
    }

    #[test]
    fn a_file_that_is_written_or_renamed_over_is_seen() {
        let root = std::env::temp_dir().join(format!("course-watch-{}", std::process::id()));
        let source = root.join("exercises/lesson03/src");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("lib.rs"), "1").unwrap();
        let (send, receive) = mpsc::channel();
        let watcher = watch(&root, move |lesson| {
            let _ = send.send(lesson);
        });
        let watcher = watcher.unwrap();
        let seen = || receive.recv_timeout(Duration::from_secs(20)).unwrap();
        fs::write(source.join("lib.rs"), "2").unwrap();
        assert_eq!(seen(), "03");
        while receive.recv_timeout(Duration::from_millis(300)).is_ok() {}
        fs::write(source.join("new"), "3").unwrap();
        fs::rename(source.join("new"), source.join("lib.rs")).unwrap();
        assert_eq!(seen(), "03");
        drop(watcher);
        fs::remove_dir_all(root).unwrap();
    }
}
