//! `cargo course book`: builds the book as pages on this disk and opens it in a browser.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo,
    lessons::{self, Lesson},
    marks::clean::step,
};

/// Builds the book into `target/book` and opens it, at an exercise (`1.2`) or a lesson (`01`) if one is given.
pub fn book(root: &Path, lessons: &[Lesson], what: Option<&str>, opens: bool) -> Result<String> {
    let page = |lesson: &Lesson| lesson.manifest.chapter.replace(".md", ".html");
    let (page, anchor) = match what {
        None => ("index.html".into(), String::new()),
        Some(id) if id.contains('.') => {
            let (lesson, exercise) = lessons::find(lessons, id)?;
            (page(lesson), format!("#{}", exercise.anchor()))
        }
        Some(number) => (page(lessons::lesson(lessons, number)?), String::new()),
    };
    let out = root.join("target/book");
    // Without the pages of removed chapters.
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("{} could not be emptied", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("{} could not be created", out.display()))?;
    build(root, &out)?;
    let page = out.join(page);
    ensure!(
        page.is_file(),
        "the book was built, but without {}; is the chapter listed in book/src/SUMMARY.md?",
        page.display()
    );
    let address = format!("{}{anchor}", address(&page));
    let failed = opens && !open(&address);
    let note = if failed {
        "No browser could be opened. Open this page yourself:\n"
    } else {
        ""
    };
    Ok(format!("{note}{address}\n"))
}

/// Runs `tests/book`, which cargo compiles first, with mdBook's crates.
fn build(root: &Path, out: &Path) -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let program = target
        .join("debug")
        .join(format!("book{}", env::consts::EXE_SUFFIX));
    if !program.is_file() {
        eprintln!("Building mdBook, once: this takes a minute or two, and requires a network.");
    }
    let status = cargo::command()
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("tests/book/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .arg("--")
        .args([root, out])
        .stdin(Stdio::null())
        .status()
        .context("cargo could not be started")?;
    ensure!(
        status.success(),
        "the book could not be built; its chapters are text files in book/src"
    );
    Ok(())
}

/// The `file://` address of a page.
fn address(page: &Path) -> String {
    let path = page.display().to_string().replace('\\', "/");
    // The drive of Windows has a colon.
    let step = |name: &str| {
        if name.ends_with(':') {
            name.to_owned()
        } else {
            step(name)
        }
    };
    let steps: Vec<String> = path.split('/').map(step).collect();
    format!("file:///{}", steps.join("/").trim_start_matches('/'))
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
