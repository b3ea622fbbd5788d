//! `cargo course book`: builds the book as pages on this disk and opens it in a browser.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    cargo,
    lessons::{self, Lesson},
};

/// Builds the book into `target/book` and opens it, at an exercise (`1.2`) or a lesson (`01`) if one is given.
pub fn book(root: &Path, lessons: &[Lesson], what: Option<&str>, opens: bool) -> Result<String> {
    let chapter = what.map(|what| chapter(lessons, what)).transpose()?;
    let out = root.join("target/book");
    fresh(&out)?;
    build(root, &out)?;
    let (page, anchor) = chapter.unwrap_or(("index.html".into(), String::new()));
    let page = out.join(page);
    if !page.is_file() {
        bail!(
            "the book was built, but without {}; is the chapter listed in book/src/SUMMARY.md?",
            page.display()
        );
    }
    let address = format!("{}{anchor}", address(&page));
    let said = if opens && !open(&address) {
        "No browser could be opened. Open this page yourself:\n"
    } else {
        ""
    };
    Ok(format!("{said}{address}\n"))
}

/// The page of a chapter, and the anchor in it.
fn chapter(lessons: &[Lesson], what: &str) -> Result<(String, String)> {
    let page = |lesson: &Lesson| lesson.manifest.chapter.replace(".md", ".html");
    if what.contains('.') {
        let (lesson, exercise) = lessons::find(lessons, what)?;
        return Ok((page(lesson), format!("#{}", exercise.anchor())));
    }
    Ok((page(lessons::lesson(lessons, what)?), String::new()))
}

/// Runs `tests/book`, which cargo compiles first, with mdBook's crates.
fn build(root: &Path, out: &Path) -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    if !target
        .join("debug")
        .join(format!("book{}", env::consts::EXE_SUFFIX))
        .is_file()
    {
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
    if !status.success() {
        bail!("the book could not be built; its chapters are text files in book/src");
    }
    Ok(())
}

/// Creates an empty folder, without the pages of removed chapters.
fn fresh(out: &Path) -> Result<()> {
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("{} could not be emptied", out.display()))?;
    }
    fs::create_dir_all(out).with_context(|| format!("{} could not be created", out.display()))
}

/// The `file://` address of a page.
pub fn address(page: &Path) -> String {
    let text = page.display().to_string().replace('\\', "/");
    let mut out = String::from(if text.starts_with('/') {
        "file://"
    } else {
        "file:///"
    });
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b':' => {
                out.push(byte.into())
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Whether a browser was started.
pub fn open(address: &str) -> bool {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        .iter()
        .any(|name| env::var_os(name).is_some());
    let mut command = match env::consts::OS {
        "macos" => Command::new("open"),
        "windows" => {
            let mut cmd = Command::new("cmd");
            cmd.args(["/C", "start", ""]);
            cmd
        }
        // Without a screen this would start a text browser in the terminal, or none.
        _ if !screen => return false,
        _ => Command::new("xdg-open"),
    };
    let quiet = command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
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
