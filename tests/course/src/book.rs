//! `cargo course book`: builds the book as pages on this disk and opens it in a browser.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo,
    lessons::{self, Lesson},
    marks::clean::step,
};

/// Where `cargo course bundle` puts the pages, because a class without a network has no mdBook.
pub const BUNDLED: &str = "book/built";

/// Builds the book and opens it, at an exercise (`1.2`) or a lesson (`01`) if one is given.
pub fn book(root: &Path, lessons: &[Lesson], what: Option<&str>) -> Result<String> {
    let mut page = "index.html".to_owned();
    if let Some(what) = what {
        let (lesson, exercise) = lessons::named(lessons, what)?;
        page = lesson.manifest.chapter.replace(".md", ".html");
        page.extend(exercise.map(|e| format!("#{}", e.anchor())));
    }
    let bundled = root.join(BUNDLED);
    let folder = if bundled.is_dir() { bundled } else { build(root)? };
    let address = format!("{}/{page}", address(&folder));
    if !open(&address) {
        eprintln!("No browser could be opened. Open this page yourself:");
    }
    Ok(format!("{address}\n"))
}

/// Builds the book into `target/book` by `tests/book`, which cargo compiles first, with mdBook's crates.
pub fn build(root: &Path) -> Result<PathBuf> {
    let out = root.join("target/book");
    // Without the pages of removed chapters.
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("{} could not be emptied", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("{} could not be created", out.display()))?;
    eprintln!("Building the book; at first mdBook, too, which takes minutes and requires a network.");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let status = cargo::command()
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("tests/book/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .arg("--")
        .args([root, &out])
        .stdin(Stdio::null())
        .status()
        .context("cargo could not be started")?;
    ensure!(
        status.success(),
        "the book could not be built; its chapters are text files in book/src"
    );
    Ok(out)
}

/// The `file://` address of a file or a folder.
fn address(path: &Path) -> String {
    let path = step(&path.display().to_string().replace('\\', "/"));
    // The drive of Windows has a colon.
    let path = path.replace("%2F", "/").replace("%3A", ":");
    format!("file:///{}", path.trim_start_matches('/'))
}

/// Whether a browser was started.
fn open(address: &str) -> bool {
    // Without a screen, `xdg-open` would start a text browser in the terminal, or none.
    let screens = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"];
    let (program, arguments) = match env::consts::OS {
        "macos" => ("open", &[][..]),
        "windows" => ("cmd", &["/C", "start", ""][..]),
        _ if screens.into_iter().all(|name| env::var_os(name).is_none()) => return false,
        _ => ("xdg-open", &[][..]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address).stdin(Stdio::null());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_escapes_any_folder_name() {
        assert_eq!(
            address(Path::new("/a b/ü#?/x.html")),
            "file:///a%20b/%C3%BC%23%3F/x.html"
        );
        assert_eq!(address(Path::new("C:\\a\\x.html")), "file:///C:/a/x.html");
    }
}
