//! `cargo course new 14 "Title"`, for authors: the skeleton of a lesson. It passes the proof before anything is changed.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;

use crate::marks::put;

/// The files of a lesson by their paths. In paths and texts, `__NN__` is the lesson's number in two digits, `__N__` the
/// number as in the names of exercises (`8` in `8.1`).
const TEMPLATE: &str = "tests/course/template";

/// Where a lesson must be listed: file, what the lines of lessons begin with, and the line to add.
const LISTS: [(&str, &str, &str); 3] = [
    (
        "tests/proof/Cargo.toml",
        "lesson",
        "lesson__NN__ = { package = \"lesson__NN__-checks\", path = \"../../lessons/lesson__NN__\" }",
    ),
    ("book/src/SUMMARY.md", "- [", "- [__NN__ __TITLE__](__CHAPTER__)"),
    (
        "solutions/README.md",
        "| ",
        "| __N__.1 | An example | `iterations` | `solutions/src/loader/order.rs` | 1 |",
    ),
];

/// Writes the skeleton of lesson `number`. Returns the message for the author.
///
/// # Errors
/// Returns an error if a file exists already, a list contains no lesson, or the title is not allowed.
pub fn new(root: &Path, number: u32, title: &str) -> Result<String> {
    let is_plain = |c: char| c.is_alphanumeric() || " ,:'-–".contains(c);
    ensure!(
        title.chars().all(is_plain) && title.chars().any(char::is_alphanumeric),
        "a title consists of letters, digits, spaces and , : ' -; this one is {title:?}"
    );
    let words = title.to_lowercase();
    let words = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty());
    let chapter = format!("{number:02}-{}.md", words.collect::<Vec<_>>().join("-"));
    let fill = |text: &str| {
        text.replace("__NN__", &format!("{number:02}"))
            .replace("__N__", &number.to_string())
            .replace("__TITLE__", title)
            .replace("__CHAPTER__", &chapter)
    };
    let mut texts = Vec::new();
    let template = root.join(TEMPLATE);
    for entry in WalkDir::new(&template).follow_links(true).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            let path = fill(&entry.path().strip_prefix(&template)?.to_string_lossy());
            ensure!(!root.join(&path).exists(), "{path} exists already");
            texts.push((path, fill(&fs::read_to_string(entry.path())?)));
        }
    }
    for (path, start, line) in LISTS {
        let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
        let text = listed(&text, start, number, &fill(line));
        let text = text.with_context(|| format!("no line of {path} lists a lesson"))?;
        texts.push((path.to_owned(), text));
    }
    let mut out = String::new();
    for (path, text) in texts {
        put(&root.join(&path), text)?;
        out += &format!("written: {path}\n");
    }
    out += &format!(
        "\nThe lesson passes its proof as it is: cargo test -p proof --test lessons lesson{number:02}\n\
         Replace its example, and look at what its checks catch: cargo course matrix {number:02}\n"
    );
    Ok(out)
}

/// `text` with `line` after the last line of a lesson before `number`. Such a line begins with `start` and the lesson's
/// number.
fn listed(text: &str, start: &str, number: u32, line: &str) -> Option<String> {
    let is_before = |line: &&str| {
        let rest = line.strip_prefix(start).unwrap_or_default();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.is_some_and(|d| d.parse::<u32>().is_ok_and(|n| n < number))
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(is_before)?;
    lines.insert(last + 1, line);
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use grader::paths;

    use super::*;
    use crate::lessons;

    #[test]
    fn manifests_of_all_lessons_follow_the_templates() {
        let root = paths::root().unwrap();
        for lesson in lessons::all(&root).unwrap() {
            for folder in [
                "lessons/lesson__NN__",
                "lessons/lesson__NN__/run",
                "exercises/lesson__NN__",
            ] {
                let path = format!("{folder}/Cargo.toml");
                let fill = |text: &str| {
                    let text = text.replace("__NN__", &lesson.manifest.lesson);
                    text.replace("__TITLE__", &lesson.manifest.title)
                };
                let template = fill(&fs::read_to_string(root.join(TEMPLATE).join(&path)).unwrap());
                let path = fill(&path);
                let text = fs::read_to_string(root.join(&path)).unwrap();
                let mut expected = template.lines().peekable();
                for line in text.lines() {
                    // A lesson may have dependencies of its own.
                    let is_known =
                        expected.next_if_eq(&line).is_some() || line.ends_with(".workspace = true");
                    assert!(is_known, "{path}: {line}");
                }
                assert_eq!(expected.next(), None, "{path}: a line of the template is missing");
            }
        }
    }

    /// In a copy of the course that consists of links, so that cargo finds its packages built.
    #[test]
    #[cfg(target_os = "linux")]
    fn an_untouched_skeleton_passes_the_proof_and_is_to_do() {
        let (root, tree) = (paths::root().unwrap(), tempfile::tempdir().unwrap());
        let parts =
            "Cargo.toml Cargo.lock rust-toolchain.toml .cargo book data exercises lessons solutions tests";
        let mut copy = std::process::Command::new("cp");
        copy.arg("-as").args(parts.split(' ').map(|part| root.join(part)));
        assert!(copy.arg(tree.path()).status().unwrap().success());
        let lists = LISTS.map(|(path, ..)| path);
        for path in lists.into_iter().chain(["Cargo.lock"]) {
            fs::remove_file(tree.path().join(path)).unwrap();
            fs::copy(root.join(path), tree.path().join(path)).unwrap();
        }
        // The same package with another lesson: under its own name, so that neither makes cargo build the other again.
        let manifest = tree.path().join(lists[0]);
        let text = fs::read_to_string(&manifest).unwrap();
        let text = text.replace("name = \"proof\"", "name = \"proof-of-new\"");
        fs::write(manifest, text + "\n[lib]\nname = \"proof\"\n").unwrap();
        new(tree.path(), 97, "A new lesson").unwrap();
        for (title, expected) in [("A new lesson", "exists already"), ("\"", "a title consists of")] {
            let error = new(tree.path(), 97, title).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let list = fs::read_to_string(tree.path().join(lists[1])).unwrap();
        assert!(
            list.contains(".md)\n- [97 A new lesson](97-a-new-lesson.md)\n\n"),
            "{list}"
        );
        let target = std::env::current_exe().unwrap();
        let target = target.ancestors().nth(3).unwrap();
        let run = |folder: &Path, arguments: &str, expected: &str| {
            let mut cargo = crate::cargo::command();
            cargo
                .args(arguments.split(' '))
                .arg("--offline")
                .current_dir(folder);
            cargo
                .env("CARGO_TARGET_DIR", target)
                .env("CANOPY_HANDED_OUT", "1");
            let output = cargo.output().unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(text.contains(expected), "{arguments}: {text}");
            text
        };
        // What the proofs of all lessons share, so that below only the skeleton is built.
        run(&root, "test -p proof --test lessons --no-run", "Executable");
        let built = run(
            tree.path(),
            "test -p proof-of-new --test lessons lesson97",
            "5 passed; 0 failed",
        );
        for package in ["canopy", "canopy-data", "grader", "candle-core", "lesson01"] {
            assert!(!built.contains(&format!("Compiling {package} v")), "{built}");
        }
        run(tree.path(), "test -p lesson97", "0 of 1 exercises right");
        run(tree.path(), "run -p lesson97", "steps of 691 records");
    }
}
