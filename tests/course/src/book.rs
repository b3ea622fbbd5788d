//! `cargo course book`: builds the book as pages on this disk and opens it in a browser.

mod include;
mod pages;

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    doctor::on_path,
    lessons::{self, Lesson},
};

/// Builds the book into `target/book` and opens it, at an exercise (`1.2`) or a lesson (`01`) if one is given.
pub fn book(root: &Path, lessons: &[Lesson], what: Option<&str>, opens: bool) -> Result<String> {
    let place = what.map(|what| chapter(lessons, what)).transpose()?;
    let out = root.join("target/book");
    let mut said = String::new();
    fresh(&out)?;
    match on_path("mdbook").map(|mdbook| with_mdbook(&mdbook, root, &out)) {
        Some(Ok(())) => {}
        other => {
            if let Some(Err(error)) = other {
                said += &format!("{error:#}\nTherefore these are plain pages.\n");
            } else {
                said += "Plain pages. For pages with search: cargo install mdbook --locked, then repeat this command.\n";
            }
            pages::write(&root.join("book/src"), &out)?;
        }
    }
    let (page, anchor) = place.unwrap_or(("index.html".into(), String::new()));
    let page = out.join(page);
    if !page.is_file() {
        bail!(
            "the book was built, but without {}; is the chapter listed in book/src/SUMMARY.md?",
            page.display()
        );
    }
    let address = format!("{}{anchor}", address(&page));
    if opens && !open(&address) {
        said += "No browser could be opened. Open this page yourself:\n";
    }
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

fn with_mdbook(mdbook: &Path, root: &Path, out: &Path) -> Result<()> {
    let output = Command::new(mdbook)
        .arg("build")
        .arg(root.join("book"))
        .arg("--dest-dir")
        .arg(out)
        .stdin(Stdio::null())
        .output()
        .context("mdbook could not be started")?;
    if !output.status.success() {
        bail!(
            "mdbook did not build the book:\n{}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
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

    #[test]
    fn the_book_has_every_anchor_and_picture() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let out = env::temp_dir().join(format!("course-book-{}", std::process::id()));
        fresh(&out).unwrap();
        pages::write(&root.join("book/src"), &out).unwrap();
        assert!(out.join("index.html").is_file());
        for lesson in lessons::all(root).unwrap() {
            for exercise in &lesson.manifest.exercises {
                let (page, anchor) = chapter(std::slice::from_ref(&lesson), &exercise.id).unwrap();
                let html = fs::read_to_string(out.join(page)).unwrap();
                assert!(html.contains(&format!("id=\"{}\"", &anchor[1..])), "{anchor}");
            }
            let html = fs::read_to_string(out.join(lesson.manifest.chapter.replace(".md", ".html"))).unwrap();
            for link in html
                .split(&['"'][..])
                .filter(|part| part.ends_with(".svg") || part.ends_with(".html"))
            {
                assert!(link.starts_with("http") || out.join(link).is_file(), "{link}");
            }
        }
        fs::remove_dir_all(out).unwrap();
    }
}
